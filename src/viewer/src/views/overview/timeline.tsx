// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { phaseColour } from "../../draw/node-colour";
import { drawTimeline } from "../../draw/timeline";
import * as show from "../../model/format";
import { phaseAt, phasesBetween, timeEnd } from "../../model/phase-selection";
import type { Selection } from "../../model/phase-selection";
import { isAdding } from "../elements/adding";
import { Canvas } from "../elements/canvas";

interface Props {
  report: Report;
  selection: Selection;
  onSelect: (selection: Selection) => void;
  onPick: (phase: number, add: boolean) => void;
  theme: Theme;
}

/** A brush as fractions of the time line. */
interface Brush {
  from: number;
  to: number;
}

/** Pixels below which a drag is a click. */
const CLICK = 4;

export function Timeline(props: Props) {
  const { report, selection, theme } = props;
  const { phases, spans } = report;
  const end = useMemo(
    () => timeEnd(spans, Math.max(...phases.map(({ end_ns }) => end_ns))),
    [report],
  );
  const colours = useMemo(
    () => phases.map((_, phase) => phaseColour(phase, phases.length, theme)),
    [report, theme],
  );
  const { brush, pointer, ...handlers } = useBrush(props, end);
  return (
    <div class="timeline">
      <div class="timeline-plot" {...handlers}>
        <Canvas
          role="img"
          aria-label={`Time line of the run, ${show.seconds(end / 1e6)}; the phases are listed below`}
          inputs={[report, selection, colours]}
          draw={(surface) =>
            drawTimeline(
              surface,
              spans,
              end,
              colours,
              (phase) => selection === null || selection.includes(phase),
            )
          }
        />
        {brush && (
          <span
            class="brush"
            style={{
              top: 0,
              bottom: 0,
              left: `${100 * Math.min(brush.from, brush.to)}%`,
              width: `${100 * Math.abs(brush.to - brush.from)}%`,
            }}
          />
        )}
      </div>
      <div class="timeline-axis" aria-hidden="true">
        <span>0</span>
        <span class="timeline-under">
          {pointer !== undefined && <Under report={report} time={pointer * end} />}
        </span>
        <span>{show.seconds(end / 1e6)}</span>
      </div>
    </div>
  );
}

/** A drag selects the phases of a time, a click the phase under the pointer. */
function useBrush({ report, onSelect, onPick }: Props, end: number) {
  const { phases, spans } = report;
  const [brush, setBrush] = useState<Brush>();
  const [pointer, setPointer] = useState<number>();
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    const at = partOf(event);
    setBrush({ from: at, to: at });
  };
  const onPointerMove = (event: PointerEvent) => {
    const at = partOf(event);
    setPointer(at);
    if (brush) setBrush({ ...brush, to: at });
  };
  const onPointerUp = (event: PointerEvent) => {
    if (!brush) return;
    setBrush(undefined);
    const width = (event.currentTarget as HTMLElement).clientWidth;
    const [low, high] = [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)];
    if ((high - low) * width >= CLICK) {
      onSelect(phasesBetween(spans, low * end, high * end, phases.length));
      return;
    }
    const phase = phaseAt(spans, low * end);
    if (phase !== undefined) onPick(phase, isAdding(event));
  };
  const onPointerCancel = () => setBrush(undefined);
  const onPointerLeave = () => setPointer(undefined);
  return {
    brush,
    pointer,
    ...{ onPointerDown, onPointerMove, onPointerUp, onPointerCancel, onPointerLeave },
  };
}

/** The time in microseconds that is pointed at, and its phase. */
function Under({ report: { phases, spans }, time }: { report: Report; time: number }) {
  const phase = phaseAt(spans, time);
  return (
    <>
      {show.seconds(time / 1e6)}
      {phase !== undefined && (
        <>
          {" · "}
          <bdi>{phases[phase]!.name.slice(0, 80)}</bdi>
        </>
      )}
    </>
  );
}

function partOf(event: PointerEvent): number {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  return Math.max(0, Math.min(1, (event.clientX - box.left) / Math.max(1, box.width)));
}
