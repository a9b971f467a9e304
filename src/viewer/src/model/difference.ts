// SPDX-License-Identifier: Apache-2.0
// Compares two groups of threads, page by page: of one run, or each run with all its threads.

import type { Axis } from "./bins";
import { measured, robustEnd } from "./matrix";
import type { Matrix, Measure, ScaleEnd } from "./matrix";

export interface Group {
  matrix: Matrix;
  /** Rows of `matrix`. */
  lines: readonly number[];
  /** The mean is over so many threads; 1: it is the sum of all lines. */
  threads: number;
}

/** Mean accesses per page and thread of the group, per bin of `x`. */
export function groupMeans({ matrix, lines, threads }: Group, measure: Measure, x: Axis) {
  const sums = new Float64Array(x.left.length);
  const { accesses } = matrix;
  for (const line of lines) {
    for (let i = accesses.rowBegin[line]!; i < accesses.rowBegin[line + 1]!; i++) {
      const bin = x.binOf[accesses.column[i]! - x.first] ?? -1;
      if (bin >= 0) sums[bin]! += measured(accesses, measure, i);
    }
  }
  return sums.map((sum, bin) => sum / (x.weight[bin]! * Math.max(1, threads)));
}

/** Bins that are the columns themselves, for scales and tables that do not depend on the zoom. */
export function ownColumns({ start, touched, pages }: Matrix): Axis {
  const columns = Array.from(start, (_, c) => c);
  return {
    binOf: Int32Array.from(columns, (c) => (touched[c]! > 0 ? c : -1)),
    first: 0,
    left: columns,
    right: columns.map((c) => c + 1),
    weight: columns.map((c) => pages[c]!),
  };
}

export interface Difference {
  a: Float64Array;
  b: Float64Array;
  /** The end of the scale of each group's mean, and of their difference. */
  scale: ScaleEnd;
  /** The most that one group has more. */
  largest: number;
}

/** The difference by column. The matrices of both groups have the same columns. */
export function differenceOf(groupA: Group, groupB: Group, measure: Measure): Difference {
  const x = ownColumns(groupA.matrix);
  const a = groupMeans(groupA, measure, x);
  const b = groupMeans(groupB, measure, x);
  return {
    a,
    b,
    scale: robustEnd([...a, ...b]),
    largest: a.reduce((most, mean, c) => Math.max(most, Math.abs(mean - b[c]!)), 0),
  };
}

/** The columns in which the groups differ most, by the sum over the pages of a column. */
export function mostDifferent(matrix: Matrix, { a, b }: Difference, most: number): number[] {
  const weight = (c: number) => Math.abs(a[c]! - b[c]!) * matrix.pages[c]!;
  return Array.from(a.keys())
    .filter((c) => weight(c) > 0)
    .sort((p, q) => weight(q) - weight(p) || p - q)
    .slice(0, most);
}

/**
 * The part of both groups' accesses that goes to the same pages, from 0 (no page in common) to 1
 * (the same distribution).
 */
export function overlap(matrix: Matrix, { a, b }: Difference): number {
  const sum = (means: Float64Array) =>
    means.reduce((total, mean, c) => total + mean * matrix.pages[c]!, 0);
  const [allA, allB] = [sum(a), sum(b)];
  if (allA === 0 || allB === 0) return 0;
  let common = 0;
  a.forEach((mean, c) => {
    common += Math.min(mean / allA, b[c]! / allB) * matrix.pages[c]!;
  });
  return Math.min(1, common);
}
