// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import type { Balance, SimulatedTimeline } from "../../data/balance";
import type { Theme } from "../../model/page-state";
import { KINDS, drawCoreTimeline, kindColour } from "../../draw/core-timeline";
import * as show from "../../model/format";
import { activityText, iterationsCsv, nodeSpans } from "../../model/mappings";
import type { NodeSpan } from "../../model/mappings";
import { Canvas } from "../elements/canvas";
import { SaveMenu } from "../page/save-menu";

interface Props {
  balance: Balance;
  selected: number;
  theme: Theme;
}

const [ROW_PX, MOST_PX] = [14, 520];

/** A simulation of iterations before and after the balancing: what each core does. */
export function CoreTimelinePanel({ balance, selected, theme }: Props) {
  const result = balance.results[selected]!;
  const { timeline } = result;
  if (balance.are_threads) return null;
  return (
    <section class="panel" aria-labelledby="timeline-title" data-figure>
      <div class="heading">
        <h2 id="timeline-title">
          Simulated iterations: <bdi>{result.label}</bdi>
        </h2>
        {timeline && (
          <SaveMenu
            title={`Simulated iterations: ${result.label}`}
            table={() => iterationsCsv(balance, result)}
          />
        )}
      </div>
      {timeline ? (
        <Plot balance={balance} selected={selected} timeline={timeline} theme={theme} />
      ) : (
        <p class="how">
          This mapping is not simulated: the simulation would take too long, or its loads and
          messages take no time.
        </p>
      )}
    </section>
  );
}

function Plot({ balance, selected, timeline, theme }: Props & { timeline: SimulatedTimeline }) {
  const { parts, row_nodes: nodes, cores_per_row: size, activity, before, results } = balance;
  const [cell, setCell] = useState({ row: 0, part: 0 });
  const rows = nodes.length;
  const height = Math.min(MOST_PX, Math.max(60, rows * ROW_PX));
  const longest = Math.max(timeline.end, results[0]!.timeline?.end ?? 0);
  const extent = timeline.end / longest;
  const marks = timeline.ends.map((end) => end / longest);
  const row = Math.min(cell.row, rows - 1);
  return (
    <>
      <p class="iteration-times">
        {timeTexts(timeline, before).map((text) => (
          <span key={text}>{text}</span>
        ))}
      </p>
      <div class="core-grid">
        <RowAxis spans={nodeSpans(nodes)} height={height} />
        <div
          class="core-plot timeline-rows"
          style={{ height }}
          tabIndex={0}
          role="group"
          aria-label="What each core does over time; the arrow keys move over cores and time"
          onKeyDown={(event) => step(event, rows, parts, cell, setCell)}
          onPointerMove={(event) => setCell(cellAt(event, rows, parts, extent))}
          onPointerDown={(event) => setCell(cellAt(event, rows, parts, extent))}
        >
          <Canvas
            role="img"
            aria-label={`${rows} rows of cores over ${show.seconds(timeline.end)}`}
            inputs={[balance, selected, theme]}
            draw={(surface) =>
              drawCoreTimeline(
                surface,
                { activity, at: timeline.at, rows, parts, extent, marks },
                theme,
              )
            }
          />
          <Rest extent={extent} end={timeline.end} />
          <i
            class="marked not-saved"
            style={{
              left: `${(100 * extent * cell.part) / parts}%`,
              width: 3,
              top: `${(100 * row) / rows}%`,
              height: `${100 / rows}%`,
            }}
          />
        </div>
        <TimeAxis end={timeline.end} longest={longest} />
      </div>
      <p class="core-reading not-saved" aria-live="polite">
        {activityText(balance, timeline, row, cell.part)}
      </p>
      <Explanation before={before} coresPerRow={size} theme={theme} />
    </>
  );
}

/** The time that the present mapping needs longer. */
function Rest({ extent, end }: { extent: number; end: number }) {
  if (extent >= 1) return null;
  return (
    <div class="rest" style={{ left: `${100 * extent}%` }}>
      {extent < 0.9 && `done after ${show.seconds(end)}`}
    </div>
  );
}

/** The axis ends with the simulation, or with that of the present mapping if it ends later. */
function TimeAxis({ end, longest }: { end: number; longest: number }) {
  return (
    <div class="time-axis" aria-hidden="true">
      <span>0</span>
      <span>
        {show.seconds(longest)}
        {end < longest && ": end with the present mapping"}
      </span>
    </div>
  );
}

interface ExplanationProps {
  /** Iterations before the balancing. */
  before: number;
  coresPerRow: number;
  theme: Theme;
}

function Explanation({ before, coresPerRow, theme }: ExplanationProps) {
  return (
    <p class="how">
      {KINDS.map((kind) => (
        <span key={kind} class="kind">
          <span class="swatch" style={{ background: kindColour(kind, theme) }} /> {kind}
        </span>
      ))}{" "}
      · blank: idle · dotted lines: ends of iterations. {show.count(before)} iterations with the
      present mapping, then migrations, then iterations with the chosen mapping. Loads count as
      seconds. The time of the balancer itself is not drawn.
      {coresPerRow > 1 && ` A row is the mean of ${show.count(coresPerRow)} cores.`}
    </p>
  );
}

/** Pixels that the name of a node needs. */
const NAME_PX = 14;

function RowAxis({ spans, height }: { spans: readonly NodeSpan[]; height: number }) {
  const row = height / (spans.at(-1)?.end ?? 1);
  return (
    <div class="row-axis" aria-hidden="true">
      {spans.map(({ node, begin, end }) => (
        <span key={begin} style={{ top: begin * row, height: (end - begin) * row }}>
          {(end - begin) * row >= NAME_PX && `node ${node}`}
        </span>
      ))}
    </div>
  );
}

function timeTexts({ times }: SimulatedTimeline, before: number): string[] {
  const last = (end: number) => show.seconds(times[end - 1] ?? 0);
  return [`Last iteration before: ${last(before)}`, `after: ${last(times.length)}`];
}

interface Cell {
  row: number;
  part: number;
}

function cellAt(event: PointerEvent, rows: number, parts: number, extent: number): Cell {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const within = (share: number, size: number) =>
    Math.max(0, Math.min(size - 1, Math.floor(share * size)));
  return {
    row: within((event.clientY - box.top) / Math.max(1, box.height), rows),
    part: within((event.clientX - box.left) / Math.max(1, box.width) / extent, parts),
  };
}

function step(
  event: KeyboardEvent,
  rows: number,
  parts: number,
  { row, part }: Cell,
  setCell: (cell: Cell) => void,
): void {
  const few = Math.max(1, Math.round(parts / 100));
  const to: Record<string, Cell> = {
    ArrowLeft: { row, part: part - few },
    ArrowRight: { row, part: part + few },
    ArrowUp: { row: row - 1, part },
    ArrowDown: { row: row + 1, part },
    Home: { row, part: 0 },
    End: { row, part: parts - 1 },
  };
  const next = to[event.key];
  if (!next) return;
  event.preventDefault();
  const clamp = (value: number, size: number) => Math.max(0, Math.min(size - 1, value));
  setCell({ row: clamp(next.row, rows), part: clamp(next.part, parts) });
}
