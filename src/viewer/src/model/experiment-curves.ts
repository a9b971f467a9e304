// SPDX-License-Identifier: Apache-2.0
// Measurements by the size of the file as curves, and those of one size.

import type { Experiment, Point } from "../data/experiment";
import type { CsvTable } from "./csv";

export interface CurvePoint {
  x: number;
  y: number;
  low: number;
  high: number;
}

export interface SizeCurve {
  /** Position of the way, which has its colour and dashes. */
  way: number;
  name: string;
  points: CurvePoint[];
}

export type Measured = "speed" | "local";

/** A curve for each way, by the size of the file. */
export function sizeCurves({ ways, points }: Experiment, measured: Measured): SizeCurve[] {
  return ways.map((name, way) => ({
    way,
    name,
    points: points
      .filter((point) => point.way === name)
      .sort((a, b) => a.size - b.size)
      .map(({ size, median, low, high, local }) =>
        measured === "speed"
          ? { x: size, y: median, low, high }
          : { x: size, y: local, low: local, high: local },
      ),
  }));
}

/** The points of one size, in the order of the ways. */
export function pointsAt({ ways, points }: Experiment, size: number): Point[] {
  return ways.flatMap((way) =>
    points.filter((point) => point.way === way && point.size === size).slice(0, 1),
  );
}

/** Position of the size that is next to `x`. */
export function nearest(sizes: readonly number[], x: number): number {
  let best = 0;
  sizes.forEach((size, i) => {
    if (Math.abs(size - x) < Math.abs(sizes[best]! - x)) best = i;
  });
  return best;
}

export function pointsCsv({ points, nodes }: Experiment): CsvTable {
  const numbers = ["median", "low", "high", "local"] as const;
  const freed = ["freed_by_kswapd", "freed_by_program"] as const;
  return {
    columns: [
      ...["file_bytes", "way", "mflops_median", "mflops_min", "mflops_max", "local_share"],
      ...["bytes_freed_by_kswapd", "bytes_freed_by_program"],
      ...nodes.map((node) => `pages_node${node}`),
      ...nodes.map((node) => `cache_bytes_node${node}`),
    ],
    rows: points.map((point) => [
      ...[point.size, point.way, ...numbers.map((name) => point[name])],
      ...[...freed.map((name) => point[name]), ...point.pages, ...point.cache],
    ]),
  };
}
