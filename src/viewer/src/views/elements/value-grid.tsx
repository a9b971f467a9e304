// SPDX-License-Identifier: Apache-2.0
import type { ScaleLinear } from "d3-scale";

interface Props {
  y: ScaleLinear<number, number>;
  /** About how many values. */
  count: number;
  /** The ends of the lines. */
  left: number;
  right: number;
  text: (value: number) => string;
}

/** Lines across a plot, each with its value on the left. */
export function ValueGrid({ y, count, left, right, text }: Props) {
  return (
    <>
      {y.ticks(count).map((value) => (
        <g key={value}>
          <line class="grid" x1={left} x2={right} y1={y(value)} y2={y(value)} />
          <text class="tick end" x={left - 8} y={y(value) + 4}>
            {text(value)}
          </text>
        </g>
      ))}
    </>
  );
}
