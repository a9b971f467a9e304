// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Report, SourceWindow } from "../../data/report";
import { neighbour, shownFrames } from "../../model/flame";
import type { Frame, FlameStep } from "../../model/flame";
import * as show from "../../model/format";
import { windowOf } from "../../model/source-lines";
import { SourceText } from "../source/source-text";

interface Props {
  report: Report;
  frames: readonly Frame[];
  matches: ReadonlySet<number>;
  searching: boolean;
  /** Position of the chosen structure. */
  selected: number;
  onSelect: (position: number) => void;
  unit: string;
}

const ROW_PX = 21;
const STEPS: Record<string, FlameStep> = {
  ArrowUp: "caller",
  ArrowDown: "called",
  ArrowLeft: "before",
  ArrowRight: "after",
};

/** Frames as boxes, callers above; one of them takes the whole width. */
export function FlameGraph(props: Props) {
  const { report, frames, selected, onSelect } = props;
  const [zoomed, setZoomed] = useState(0);
  const [pointed, setPointed] = useState(0);
  const [taken, setTaken] = useState(0);
  // The numbers may be of former frames: the reader may have chosen other phases since.
  const zoom = Math.min(zoomed, frames.length - 1);
  const current = Math.min(pointed, frames.length - 1);
  const shown = useMemo(() => shownFrames(frames, zoom), [frames, zoom]);
  const rows = 1 + shown.reduce((most, { index }) => Math.max(most, frames[index]!.depth), 0);
  const take = (index: number) => {
    const { position } = frames[index]!;
    setPointed(index);
    setTaken(index);
    if (position >= 0) onSelect(position);
    else setZoomed(index);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step) setPointed(neighbour(frames, shown, current, step));
    else if (event.key === "Enter") take(current);
    else if (event.key === "Escape") setZoomed(0);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div class="flame-scroll">
        <div
          class="flame"
          style={{ height: rows * ROW_PX }}
          tabIndex={0}
          role="group"
          aria-label={`Flame graph of ${show.count(shown.length)} frames; the arrow keys move, Enter enlarges`}
          onKeyDown={onKeyDown}
        >
          {shown.map(({ index, left, width }) => (
            <Box
              key={index}
              frame={frames[index]!}
              marks={marksOf(props, index, current, selected)}
              left={left}
              width={width}
              onClick={() => take(index)}
              onPoint={() => setPointed(index)}
            />
          ))}
        </div>
      </div>
      <Told {...props} frame={frames[current]!} />
      <Source sources={report.sources} frame={frames[Math.min(taken, frames.length - 1)]!} />
    </>
  );
}

function marksOf({ frames, matches, searching }: Props, index: number, at: number, chosen: number) {
  const { kind, position } = frames[index]!;
  const marks = [`frame-${kind}`];
  if (index === at) marks.push("current");
  if (kind === "structure" && position === chosen) marks.push("chosen");
  if (searching) marks.push(matches.has(index) ? "match" : "other");
  return marks.join(" ");
}

interface BoxProps {
  frame: Frame;
  marks: string;
  left: number;
  width: number;
  onClick: () => void;
  onPoint: () => void;
}

function Box({ frame: { name, depth }, marks, left, width, onClick, onPoint }: BoxProps) {
  return (
    <span
      class={`flame-frame ${marks}`}
      style={{ left: `${100 * left}%`, width: `${100 * width}%`, top: depth * ROW_PX }}
      onClick={onClick}
      onPointerEnter={onPoint}
    >
      <bdi>{name.slice(0, 200)}</bdi>
    </span>
  );
}

/** The frame under the pointer in words. */
function Told({ frame, frames, unit }: Props & { frame: Frame }) {
  const share = frame.value / Math.max(1, frames[0]!.value);
  return (
    <p class="flame-told not-saved" aria-live="polite">
      <bdi class="mono">{frame.title.slice(0, 400)}</bdi>: {show.share(share)} (
      {show.count(frame.value)} {unit})
    </p>
  );
}

/** The source text of the frame that was taken, if the report has it. */
function Source({ sources, frame }: { sources: SourceWindow[] | undefined; frame: Frame }) {
  const { file, line } = frame;
  const found = file && line ? sourceOf(sources, file, line) : undefined;
  if (!found) return null;
  return (
    <div class="flame-source not-saved">
      <SourceText
        window={found}
        chosen={{ file: found.file, first: line, last: line }}
        functions={[]}
        total={{ reads: 0, writes: 0, estimated: 0 }}
      />
    </div>
  );
}

/** Calls name files without folders. */
function sourceOf(sources: SourceWindow[] | undefined, file: string, line: number) {
  return (
    windowOf(sources, file, line) ??
    windowOf(
      sources?.filter((window) => window.file.endsWith(`/${file}`)).map((w) => ({ ...w, file })),
      file,
      line,
    )
  );
}
