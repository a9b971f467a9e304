// SPDX-License-Identifier: Apache-2.0
// One structure's share of the report's tables: columns of pages by rows of threads.

import type { Column, Report } from "../data/report";

export type Measure = "both" | "reads" | "writes";

/** Entries sorted by row; those of row r are rowBegin[r] .. rowBegin[r + 1]. */
interface Rows {
  rowBegin: Uint32Array;
  column: Column;
}

export interface AccessRows extends Rows {
  reads: Column;
  writes: Column;
}

export interface FirstTouchRows extends Rows {
  pages: Column;
  place: Column;
}

export interface Matrix {
  threads: number;
  /** First page, number of pages and touched pages of each column. */
  start: Column;
  pages: Column;
  touched: Column;
  /** Pages of the structure. */
  length: number;
  accesses: AccessRows;
  firstTouches: FirstTouchRows;
}

export function matrixOf(report: Report, position: number): Matrix {
  const threads = report.threads.length;
  const { columns, cells, first_touches: first } = report;
  const [c0, c1] = bounds(columns.begin, position);
  const [a0, a1] = bounds(cells.begin, position);
  const [f0, f1] = bounds(first.begin, position);
  const start = columns.start.subarray(c0, c1);
  const pages = columns.pages.subarray(c0, c1);
  const last = start.length - 1;
  return {
    threads,
    start,
    pages,
    touched: columns.touched.subarray(c0, c1),
    length: last < 0 ? 0 : start[last]! + pages[last]!,
    accesses: {
      rowBegin: rowBegins(cells.row.subarray(a0, a1), threads),
      column: cells.column.subarray(a0, a1),
      reads: cells.reads.subarray(a0, a1),
      writes: cells.writes.subarray(a0, a1),
    },
    firstTouches: {
      rowBegin: rowBegins(first.row.subarray(f0, f1), threads),
      column: first.column.subarray(f0, f1),
      pages: first.pages.subarray(f0, f1),
      place: first.place.subarray(f0, f1),
    },
  };
}

function bounds(begin: Column, position: number): [number, number] {
  return [begin[position] ?? 0, begin[position + 1] ?? 0];
}

function rowBegins(row: Column, rows: number): Uint32Array {
  const begin = new Uint32Array(rows + 1);
  for (let i = 0; i < row.length; i++) begin[row[i]! + 1]!++;
  for (let r = 0; r < rows; r++) begin[r + 1]! += begin[r]!;
  return begin;
}

/** The measured number of entry i. */
export function measured({ reads, writes }: AccessRows, measure: Measure, i: number): number {
  if (measure === "reads") return reads[i]!;
  return measure === "writes" ? writes[i]! : reads[i]! + writes[i]!;
}

/** Where a scale of densities ends; `clipped` when larger values exist. */
export interface ScaleEnd {
  end: number;
  clipped: boolean;
}

/** The end of the colour scale for mean accesses per page, over all cells. */
export function densityScale(matrix: Matrix, measure: Measure): ScaleEnd {
  const { accesses, pages } = matrix;
  const densities = new Float64Array(accesses.column.length);
  for (let i = 0; i < densities.length; i++) {
    densities[i] = measured(accesses, measure, i) / pages[accesses.column[i]!]!;
  }
  return robustEnd(densities);
}

const SAMPLE = 20_000;
const TYPICAL = 0.995;
const OUTLIER = 4;

/**
 * The largest value, unless a few values so far above all others that the rest would not be told
 * apart: then the end is the 99.5th percentile of what is not 0.
 */
export function robustEnd(values: ArrayLike<number>): ScaleEnd {
  let largest = 0;
  const sample: number[] = [];
  const step = Math.max(1, Math.floor(values.length / SAMPLE));
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value > largest) largest = value;
    if (i % step === 0 && value > 0) sample.push(value);
  }
  const sorted = Float64Array.from(sample).sort();
  const typical = sorted[Math.ceil(TYPICAL * sorted.length) - 1] ?? largest;
  return largest > OUTLIER * typical
    ? { end: typical, clipped: true }
    : { end: largest, clipped: false };
}

/** The column that covers `page` (may be a fraction), or -1. */
export function columnAt({ start, length }: Matrix, page: number): number {
  if (page < 0 || page >= length) return -1;
  let low = 0;
  let high = start.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (start[middle]! <= page) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Index of the entry (row, column), or -1. */
export function entryAt({ rowBegin, column }: Rows, row: number, wanted: number): number {
  let low = rowBegin[row] ?? 0;
  let high = (rowBegin[row + 1] ?? 0) - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = column[middle]!;
    if (found === wanted) return middle;
    if (found < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

export interface ThreadSums {
  reads: Float64Array;
  writes: Float64Array;
  pages: Float64Array;
  firstTouched: Float64Array;
}

/** Sums per row; `pages` is the number of pages in columns that the thread used. */
export function threadSums(matrix: Matrix): ThreadSums {
  const { accesses, firstTouches, threads } = matrix;
  const sums = {
    reads: new Float64Array(threads),
    writes: new Float64Array(threads),
    pages: new Float64Array(threads),
    firstTouched: new Float64Array(threads),
  };
  for (let row = 0; row < threads; row++) {
    for (let i = accesses.rowBegin[row]!; i < accesses.rowBegin[row + 1]!; i++) {
      sums.reads[row]! += accesses.reads[i]!;
      sums.writes[row]! += accesses.writes[i]!;
      sums.pages[row]! += matrix.touched[accesses.column[i]!]!;
    }
    for (let i = firstTouches.rowBegin[row]!; i < firstTouches.rowBegin[row + 1]!; i++) {
      sums.firstTouched[row]! += firstTouches.pages[i]!;
    }
  }
  return sums;
}

export interface ColumnFirstTouch {
  /** Row of the thread that touched most of the column's pages first. */
  row: number;
  pages: number;
  place: number;
  /** Threads that touched some of its pages first, and pages by all of them. */
  rows: number;
  total: number;
}

export function firstTouchOf(matrix: Matrix, column: number): ColumnFirstTouch | undefined {
  const { firstTouches, threads } = matrix;
  let found: ColumnFirstTouch | undefined;
  for (let row = 0; row < threads; row++) {
    const i = entryAt(firstTouches, row, column);
    if (i < 0) continue;
    const pages = firstTouches.pages[i]!;
    const rows = (found?.rows ?? 0) + 1;
    const total = (found?.total ?? 0) + pages;
    if (found && found.pages >= pages) found = { ...found, rows, total };
    else found = { row, pages, place: firstTouches.place[i]!, rows, total };
  }
  return found;
}
