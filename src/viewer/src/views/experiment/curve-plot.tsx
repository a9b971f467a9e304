// SPDX-License-Identifier: Apache-2.0
import { scaleLinear } from "d3-scale";
import type { Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import { nearest } from "../../model/experiment-curves";
import type { SizeCurve } from "../../model/experiment-curves";
import * as show from "../../model/format";
import { ValueGrid } from "../elements/value-grid";
import { useWidth } from "../page/use-width";

interface Props {
  curves: readonly SizeCurve[];
  sizes: readonly number[];
  /** The end of the vertical axis, which starts at 0. */
  top: number;
  text: (value: number) => string;
  label: string;
  /** Position of the size that is marked. */
  selected: number;
  onSelect: (size: number) => void;
  theme: Theme;
}

const HEIGHT = 250;
const MARGIN = { left: 58, right: 16, top: 10, bottom: 26 };
/** Pixels between two names of sizes. */
const APART = 74;
/** Half of the pixels of a name. A name nearer to the right edge ends at the edge. */
const ROOM = 34;
/** Ways can be distinguished without colours, too. */
const DASHES = ["", "7 4", "2 3", "9 3 2 3", "14 4"];

export function dashesOf(way: number): string {
  return DASHES[way % DASHES.length]!;
}

/** A curve for each way, with its range as a band, by the size of the file. */
export function CurvePlot(props: Props) {
  const { curves, sizes, top, text, label, selected, onSelect, theme } = props;
  const [element, width] = useWidth<HTMLDivElement>();
  const last = Math.max(1, sizes.at(-1) ?? 1);
  const x = scaleLinear([0, last], [MARGIN.left, Math.max(MARGIN.left + 1, width - MARGIN.right)]);
  const y = scaleLinear([0, top], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  return (
    <div
      class="curve-plot"
      ref={element}
      tabIndex={0}
      role="group"
      aria-label={`${label}; the arrow keys choose the size of the file`}
      onKeyDown={(event) => step(event, sizes.length, selected, onSelect)}
      onPointerDown={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        onSelect(nearest(sizes, x.invert(event.clientX - box.left)));
      }}
    >
      <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img">
        <title>{label}</title>
        <ValueGrid y={y} count={5} left={MARGIN.left} right={width - MARGIN.right} text={text} />
        {named(sizes, (size) => x(size)).map((size) => (
          <text
            key={size}
            class={`tick ${x(size) > width - ROOM ? "end" : "middle"}`}
            x={endOf(x(size), width)}
            y={HEIGHT - 8}
          >
            {show.bytes(size)}
          </text>
        ))}
        <line
          class="marked-size"
          x1={x(sizes[selected]!)}
          x2={x(sizes[selected]!)}
          y1={MARGIN.top}
          y2={HEIGHT - MARGIN.bottom}
        />
        {curves.map((curve) => (
          <CurveLine
            key={curve.name}
            curve={curve}
            x={x}
            y={y}
            colour={nodeColour(curve.way, curves.length, theme)}
          />
        ))}
      </svg>
    </div>
  );
}

interface LineProps {
  curve: SizeCurve;
  x: (value: number) => number;
  y: (value: number) => number;
  colour: string;
}

function CurveLine({ curve: { way, points }, x, y, colour }: LineProps) {
  const at = (px: number, value: number) => `${x(px).toFixed(1)},${y(value).toFixed(1)}`;
  const above = points.map((point) => at(point.x, point.high));
  const below = points.map((point) => at(point.x, point.low)).reverse();
  return (
    <g>
      <polygon points={[...above, ...below].join(" ")} fill={colour} fill-opacity={0.16} />
      <polyline
        points={points.map((point) => at(point.x, point.y)).join(" ")}
        fill="none"
        stroke={colour}
        stroke-width={2}
        stroke-dasharray={dashesOf(way)}
      />
      {points.map((point) => (
        <circle key={point.x} cx={x(point.x)} cy={y(point.y)} r={3} fill={colour} />
      ))}
    </g>
  );
}

function endOf(x: number, width: number): number {
  return x > width - ROOM ? width - 2 : x;
}

/** The sizes whose names fit beside each other. */
function named(sizes: readonly number[], x: (size: number) => number): number[] {
  const shown: number[] = [];
  for (const size of sizes) {
    const before = shown.at(-1);
    if (before === undefined || x(size) - x(before) >= APART) shown.push(size);
  }
  return shown;
}

function step(
  event: KeyboardEvent,
  sizes: number,
  selected: number,
  onSelect: (size: number) => void,
): void {
  const to = { ArrowLeft: selected - 1, ArrowRight: selected + 1, Home: 0, End: sizes - 1 };
  const next = to[event.key as keyof typeof to];
  if (next === undefined) return;
  event.preventDefault();
  onSelect(Math.max(0, Math.min(sizes - 1, next)));
}
