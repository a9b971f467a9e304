// SPDX-License-Identifier: Apache-2.0
// Finds which threads use the same pages: the matrix in the page's order.
//
// The measure is the sum over pages of the smaller of both threads' accesses; on the diagonal are a
// thread's (or a group of threads') own accesses. Threads are groups when there are too many rows.

import type { Report } from "../data/report";

export interface SharingMatrix {
  /** Rows; several threads per row when the run has more than the report's limit. */
  size: number;
  /** Threads' rows (positions in the report's list) behind each row of the matrix. */
  threads: number[][];
  /** Value of rows a, b at a * size + b; symmetric. */
  shared: Float64Array;
}

/** The matrix of the chosen phases; rows in the order in which `order` names their threads. */
export function sharingOf(
  report: Report,
  phases: readonly number[],
  order: readonly number[],
): SharingMatrix {
  const { groups, group, accesses } = report.sharing;
  const members: number[][] = Array.from({ length: groups }, () => []);
  const placed: number[] = [];
  for (const row of order) {
    const at = group[row];
    if (at === undefined || !members[at]) continue;
    if (members[at].length === 0) placed.push(at);
    members[at].push(row);
  }
  const sum = summedPhases(accesses, groups * groups, phases, report.phases.length);
  const shared = new Float64Array(placed.length ** 2);
  placed.forEach((a, i) =>
    placed.forEach((b, j) => (shared[i * placed.length + j] = sum[a * groups + b]!)),
  );
  return { size: placed.length, threads: placed.map((at) => members[at]!), shared };
}

/** The whole run's matrix comes first; those of single phases only exist when there are several. */
function summedPhases(
  accesses: ArrayLike<number>,
  length: number,
  phases: readonly number[],
  of: number,
): Float64Array {
  const sum = new Float64Array(length);
  const whole = of === 1 || phases.length === of;
  const matrices = whole ? [0] : phases.map((phase) => phase + 1);
  for (const matrix of matrices) {
    for (let i = 0; i < length; i++) sum[i]! += accesses[matrix * length + i] ?? 0;
  }
  return sum;
}

export interface Pair {
  a: number;
  b: number;
  shared: number;
}

/** The pairs of rows that share most, a above b; those that share nothing are left out. */
export function strongestPairs({ size, shared }: SharingMatrix, most = Infinity): Pair[] {
  const pairs: Pair[] = [];
  for (let a = 0; a < size; a++) {
    for (let b = a + 1; b < size; b++) {
      const value = shared[a * size + b]!;
      if (value > 0) pairs.push({ a, b, shared: value });
    }
  }
  return pairs.sort((x, y) => y.shared - x.shared).slice(0, most);
}
