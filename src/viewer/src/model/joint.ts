// SPDX-License-Identifier: Apache-2.0
// The matrices of a structure in two runs with the same columns and rows, so that they can be
// subtracted. Columns of different widths are summed up to the wider ones.

import type { AccessRows, FirstTouchRows, Matrix, Measure } from "./matrix";
import { columnAt, measured } from "./matrix";

export interface Joint {
  a: Matrix;
  b: Matrix;
}

export function jointMatrices(a: Matrix, b: Matrix): Joint {
  const edges = commonEdges(a, b);
  const threads = Math.max(a.threads, b.threads);
  const length = Math.max(a.length, b.length);
  const [toA, toB] = [joinedColumns(a, edges), joinedColumns(b, edges)];
  const start = Float64Array.from(edges.slice(0, -1));
  const pages = start.map((page, i) => edges[i + 1]! - page);
  const touched = new Float64Array(start.length);
  [toA, toB].forEach((to, side) => {
    const own = new Float64Array(start.length);
    const matrix = side === 0 ? a : b;
    to.forEach((joint, c) => joint >= 0 && (own[joint]! += matrix.touched[c]!));
    own.forEach((count, joint) => (touched[joint] = Math.max(touched[joint]!, count)));
  });
  const joined = (matrix: Matrix, to: Int32Array): Matrix => ({
    ...{ threads, length, start, pages, touched },
    accesses: joinedAccesses(matrix.accesses, to, matrix.threads, threads),
    firstTouches: joinedTouches(matrix.firstTouches, to, matrix.threads, threads),
  });
  return { a: joined(a, toA), b: joined(b, toB) };
}

/** The pages, in the range that both matrices know, at which no touched column would be cut. */
function commonEdges(a: Matrix, b: Matrix): number[] {
  const all = [...Array.from(a.start), endOf(a), ...Array.from(b.start), endOf(b)];
  const low = Math.max(a.start[0] ?? 0, b.start[0] ?? 0);
  const high = Math.min(knownEnd(a), knownEnd(b));
  const sorted = [...new Set(all)].sort((p, q) => p - q);
  return sorted.filter(
    (page) => page >= low && page <= high && divisible(a, page) && divisible(b, page),
  );
}

function endOf({ start, pages }: Matrix): number {
  const last = start.length - 1;
  return last < 0 ? 0 : start[last]! + pages[last]!;
}

/** Beyond its last column, a whole structure has no accesses; those of a window are unknown. */
function knownEnd(matrix: Matrix): number {
  const end = endOf(matrix);
  return end < matrix.length ? end : Infinity;
}

function divisible(matrix: Matrix, page: number): boolean {
  const column = page < endOf(matrix) ? columnAt(matrix, page) : -1;
  return column < 0 || matrix.start[column] === page || matrix.touched[column] === 0;
}

/** The common column of each touched column that both matrices know; -1 for all others. */
function joinedColumns({ start, touched }: Matrix, edges: number[]): Int32Array {
  const to = new Int32Array(start.length).fill(-1);
  let joint = 0;
  for (let c = 0; c < to.length; c++) {
    while (joint + 1 < edges.length && edges[joint + 1]! <= start[c]!) joint++;
    const inside = start[c]! >= edges[joint]! && joint + 1 < edges.length;
    if (inside && touched[c]! > 0) to[c] = joint;
  }
  return to;
}

/** Joins entries of a row that have one common column; `target` is their new index, or -1. */
function kept(rows: { rowBegin: Uint32Array; column: ArrayLike<number> }, to: Int32Array) {
  const target = new Int32Array(rows.column.length).fill(-1);
  const column: number[] = [];
  const rowBegin = [0];
  for (let row = 0; row + 1 < rows.rowBegin.length; row++) {
    const first = column.length;
    for (let i = rows.rowBegin[row]!; i < rows.rowBegin[row + 1]!; i++) {
      const joint = to[rows.column[i]!]!;
      if (joint < 0) continue;
      if (column.length === first || column[column.length - 1] !== joint) column.push(joint);
      target[i] = column.length - 1;
    }
    rowBegin.push(column.length);
  }
  return { target, column: Uint32Array.from(column), rowBegin };
}

function padded(rowBegin: number[], own: number, threads: number): Uint32Array {
  return Uint32Array.from({ length: threads + 1 }, (_, row) => rowBegin[Math.min(row, own)]!);
}

function joinedAccesses(
  rows: AccessRows,
  to: Int32Array,
  own: number,
  threads: number,
): AccessRows {
  const { target, column, rowBegin } = kept(rows, to);
  const reads = new Float64Array(column.length);
  const writes = new Float64Array(column.length);
  target.forEach((at, i) => {
    if (at < 0) return;
    reads[at]! += rows.reads[i]!;
    writes[at]! += rows.writes[i]!;
  });
  return { rowBegin: padded(rowBegin, own, threads), column, reads, writes };
}

function joinedTouches(
  rows: FirstTouchRows,
  to: Int32Array,
  own: number,
  threads: number,
): FirstTouchRows {
  const { target, column, rowBegin } = kept(rows, to);
  const pages = new Float64Array(column.length);
  const place = new Uint32Array(column.length);
  target.forEach((at, i) => {
    if (at < 0) return;
    pages[at]! += rows.pages[i]!;
    place[at] = rows.place[i]!;
  });
  return { rowBegin: padded(rowBegin, own, threads), column, pages, place };
}

/** The first touches as counts of one measure, so that they can be drawn as accesses are. */
export function touchesAsAccesses(matrix: Matrix): Matrix {
  const { rowBegin, column, pages } = matrix.firstTouches;
  const accesses = { rowBegin, column, reads: pages, writes: new Uint8Array(pages.length) };
  return { ...matrix, accesses };
}

/** The largest difference of a cell, in accesses per page. */
export function largestDifference({ a, b }: Joint, measure: Measure): number {
  let largest = 0;
  const row = new Float64Array(a.start.length);
  for (let thread = 0; thread < a.threads; thread++) {
    const touched = new Set<number>();
    [a.accesses, b.accesses].forEach((side, sign) => {
      for (let i = side.rowBegin[thread]!; i < side.rowBegin[thread + 1]!; i++) {
        const value = measured(side, measure, i);
        touched.add(side.column[i]!);
        row[side.column[i]!]! += sign === 0 ? value : -value;
      }
    });
    touched.forEach((c) => {
      largest = Math.max(largest, Math.abs(row[c]!) / a.pages[c]!);
      row[c] = 0;
    });
  }
  return largest;
}
