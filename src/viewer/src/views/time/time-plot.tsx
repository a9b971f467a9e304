// SPDX-License-Identifier: Apache-2.0
import { scaleLinear } from "d3-scale";
import type { ScaleLinear } from "d3-scale";
import { useMemo } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { phaseColour } from "../../draw/node-colour";
import * as show from "../../model/format";
import type { Selection } from "../../model/phase-selection";
import { stepAt } from "../../model/time-curves";
import type { Curve, Step } from "../../model/time-curves";
import { isAdding } from "../elements/adding";
import { ValueGrid } from "../elements/value-grid";
import { useWidth } from "../page/use-width";

interface Props {
  report: Report;
  curve: Curve;
  steps: readonly Step[];
  /** The end of the run in microseconds. */
  end: number;
  selection: Selection;
  theme: Theme;
  /** Index of the step that is pointed at. */
  pointed: number | undefined;
  onPoint: (step: number | undefined) => void;
  onPick: (phase: number, add: boolean) => void;
}

const HEIGHT = 118;
const MARGIN = { left: 58, right: 16, top: 8, bottom: 24 };
/** Pixels; a short run of a phase stays visible. */
const NARROWEST = 0.75;

/** One curve over the time of the run, filled in the colours of its phases. */
export function TimePlot(props: Props) {
  const { report, curve, steps, end, selection, theme, pointed, onPoint, onPick } = props;
  const [element, width] = useWidth<HTMLDivElement>();
  const x = scaleLinear([0, end], [MARGIN.left, Math.max(MARGIN.left + 1, width - MARGIN.right)]);
  const top = curve.unit === "share" ? 1 : largestOf(curve);
  const y = scaleLinear([0, top], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const areas = useMemo(() => areasOf(curve, steps, x, y), [curve, steps, end, width]);
  const text = (value: number) =>
    curve.unit === "share" ? show.percent(value) : show.short(value);
  const pick = (step: number, add: boolean) => onPick(steps[step]!.phases.at(-1)!, add);
  const at = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return stepAt(steps, x.invert(event.clientX - box.left));
  };
  const title = `${curve.name} ${curve.unit === "share" ? "as a share" : curve.unit} over time`;
  return (
    <figure class="time-plot">
      <figcaption>
        {curve.name}
        {curve.unit === "share" ? ", share" : ` ${curve.unit}`}
      </figcaption>
      <div
        ref={element}
        tabIndex={0}
        role="group"
        aria-label={`${title}; the arrow keys choose a stretch of time, Enter shows its phase`}
        onPointerMove={(event) => onPoint(at(event))}
        onPointerLeave={() => onPoint(undefined)}
        onClick={(event) => pick(at(event as unknown as PointerEvent), isAdding(event))}
        onKeyDown={(event) => {
          const to = stepOfKey(event.key, pointed, steps.length);
          if (event.key === "Enter" && pointed !== undefined) pick(pointed, isAdding(event));
          else if (to !== undefined) onPoint(to);
          else return;
          event.preventDefault();
        }}
      >
        <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img">
          <title>{title}</title>
          <ValueGrid y={y} count={3} left={MARGIN.left} right={width - MARGIN.right} text={text} />
          <TimeTicks x={x} width={width} />
          {areas.map(([phase, path]) => (
            <path
              key={phase}
              d={path}
              fill={phaseColour(phase, report.phases.length, theme)}
              fill-opacity={selection === null || selection.includes(phase) ? 1 : 0.22}
            />
          ))}
          {pointed !== undefined && <PointedStep step={steps[pointed]!} x={x} />}
        </svg>
      </div>
    </figure>
  );
}

function largestOf({ values }: Curve): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0) || 1;
}

function stepOfKey(key: string, from: number | undefined, steps: number): number | undefined {
  const at = from ?? -1;
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: steps - 1 }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(steps - 1, to));
}

type Scaled = (value: number) => number;

/** For each phase, the rectangles of its steps; a step of several phases belongs to the last. */
function areasOf({ values }: Curve, steps: readonly Step[], x: Scaled, y: Scaled) {
  const paths = new Map<number, string[]>();
  const floor = y(0).toFixed(1);
  steps.forEach(({ from, to, phases }, i) => {
    const value = values[i];
    if (!value) return;
    const phase = phases.at(-1)!;
    const left = x(from);
    const right = Math.max(left + NARROWEST, x(to)).toFixed(2);
    const path = `M${left.toFixed(2)} ${floor}V${y(value).toFixed(1)}H${right}V${floor}Z`;
    const found = paths.get(phase);
    if (found) found.push(path);
    else paths.set(phase, [path]);
  });
  return [...paths].map(([phase, parts]) => [phase, parts.join("")] as const);
}

/** Pixels between two times. */
const APART = 130;

function TimeTicks({ x, width }: { x: ScaleLinear<number, number>; width: number }) {
  const anchor = (time: number, i: number) =>
    i === 0 ? "start" : x(time) > width - MARGIN.right - 24 ? "end" : "middle";
  return (
    <>
      {x.ticks(Math.max(2, Math.floor(width / APART))).map((time, i) => (
        <text key={time} class={`tick ${anchor(time, i)}`} x={x(time)} y={HEIGHT - 8}>
          {show.seconds(time / 1e6)}
        </text>
      ))}
    </>
  );
}

function PointedStep({ step: { from, to }, x }: { step: Step; x: Scaled }) {
  return (
    <rect
      class="pointed"
      x={x(from)}
      width={Math.max(1.5, x(to) - x(from))}
      y={MARGIN.top}
      height={HEIGHT - MARGIN.top - MARGIN.bottom}
    />
  );
}
