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

/** The matrix of the structure at a position of the report. */
export type Matrices = (position: number) => Matrix;

/** Positions of phases, each once; undefined or null: all of them. */
export type PhaseSet = readonly number[] | null | undefined;

/**
 * The matrix of the entry at `position` in some phases (all by default). The same object as long
 * as it is kept, see KEPT; that of a single phase shares the report's memory.
 */
export function matrixOf(report: Report, position: number, phases?: PhaseSet): Matrix {
  const count = report.phases.length;
  const chosen = phases ? [...phases].filter((p) => p < count).sort((a, b) => a - b) : all(count);
  const key = `${position}:${chosen.length === count ? "all" : chosen.join(",")}`;
  let kept = matrices.get(report);
  if (!kept) matrices.set(report, (kept = { entries: 0, byKey: new Map() }));
  let matrix = kept.byKey.get(key);
  if (matrix) {
    // The map is in order of last use.
    kept.byKey.delete(key);
  } else {
    matrix = cut(report, position, chosen);
    kept.entries += entriesOf(matrix);
  }
  kept.byKey.set(key, matrix);
  for (const [oldest, unused] of kept.byKey) {
    if (kept.entries <= KEPT || oldest === key) break;
    kept.byKey.delete(oldest);
    kept.entries -= entriesOf(unused);
  }
  return matrix;
}

/** Entries of all matrices kept; a report has at most 2 million. */
const KEPT = 6_000_000;
const matrices = new WeakMap<Report, { entries: number; byKey: Map<string, Matrix> }>();

function entriesOf({ accesses, firstTouches }: Matrix): number {
  return 1 + accesses.column.length + firstTouches.column.length;
}

function all(count: number): number[] {
  return Array.from({ length: count }, (_, phase) => phase);
}

function cut(report: Report, position: number, phases: readonly number[]): Matrix {
  const threads = report.threads.length;
  const count = report.phases.length;
  const { columns, cells, first_touches: first } = report;
  const [c0, c1] = bounds(columns.begin, position);
  const start = columns.start.subarray(c0, c1);
  const pages = columns.pages.subarray(c0, c1);
  const last = start.length - 1;
  const accesses = phases.map((phase): AccessRows => {
    const [from, to] = bounds(cells.begin, position * count + phase);
    return {
      rowBegin: rowBegins(cells.row.subarray(from, to), threads),
      column: cells.column.subarray(from, to),
      reads: cells.reads.subarray(from, to),
      writes: cells.writes.subarray(from, to),
    };
  });
  const touches = phases.map((phase): FirstTouchRows => {
    const [from, to] = bounds(first.begin, position * count + phase);
    return {
      rowBegin: rowBegins(first.row.subarray(from, to), threads),
      column: first.column.subarray(from, to),
      pages: first.pages.subarray(from, to),
      place: first.place.subarray(from, to),
    };
  });
  return {
    threads,
    start,
    pages,
    touched: columns.touched.subarray(c0, c1),
    length: last < 0 ? 0 : start[last]! + pages[last]!,
    accesses: accesses.length === 1 ? accesses[0]! : addedAccesses(accesses, threads, start.length),
    firstTouches:
      touches.length === 1 ? touches[0]! : addedFirstTouches(touches, threads, start.length),
  };
}

function addedAccesses(parts: AccessRows[], threads: number, columns: number): AccessRows {
  const { rowBegin, column, from } = united(parts, threads, columns);
  const reads = new Float64Array(column.length);
  const writes = new Float64Array(column.length);
  parts.forEach((part, p) => {
    from[p]!.forEach((at, i) => {
      reads[at]! += part.reads[i]!;
      writes[at]! += part.writes[i]!;
    });
  });
  return { rowBegin, column, reads, writes };
}

/** The place is that of the phase in which most pages of a field were touched first. */
function addedFirstTouches(
  parts: FirstTouchRows[],
  threads: number,
  columns: number,
): FirstTouchRows {
  const { rowBegin, column, from } = united(parts, threads, columns);
  const pages = new Float64Array(column.length);
  const most = new Float64Array(column.length);
  const place = new Uint32Array(column.length);
  parts.forEach((part, p) => {
    from[p]!.forEach((at, i) => {
      const more = part.pages[i]!;
      pages[at]! += more;
      if (more > most[at]!) {
        most[at] = more;
        place[at] = part.place[i]!;
      }
    });
  });
  return { rowBegin, column, pages, place };
}

/** The fields that any part has, and for each part where its entries went. */
function united(
  parts: Rows[],
  threads: number,
  columns: number,
): { rowBegin: Uint32Array; column: Column; from: Uint32Array[] } {
  const most = parts.reduce((sum, part) => sum + part.column.length, 0);
  const column = new Uint32Array(most);
  const rowBegin = new Uint32Array(threads + 1);
  const from = parts.map((part) => new Uint32Array(part.column.length));
  const seen = new Int32Array(columns).fill(-1);
  const place = new Uint32Array(columns);
  let end = 0;
  for (let row = 0; row < threads; row++) {
    rowBegin[row] = end;
    const first = end;
    for (const part of parts) {
      for (let i = part.rowBegin[row]!; i < part.rowBegin[row + 1]!; i++) {
        const c = part.column[i]!;
        if (seen[c] === row) continue;
        seen[c] = row;
        column[end++] = c;
      }
    }
    column.subarray(first, end).sort();
    for (let at = first; at < end; at++) place[column[at]!] = at;
    parts.forEach((part, p) => {
      for (let i = part.rowBegin[row]!; i < part.rowBegin[row + 1]!; i++) {
        from[p]![i] = place[part.column[i]!]!;
      }
    });
  }
  rowBegin[threads] = end;
  return { rowBegin, column: column.subarray(0, end), from };
}

function bounds(begin: Column, at: number): [number, number] {
  return [begin[at] ?? 0, begin[at + 1] ?? 0];
}

export function rowBegins(row: Column, rows: number): Uint32Array {
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

/** The end of a scale of densities; `clipped` if larger values exist. */
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
 * The largest value. If a few values are so far above all others that the others could not be
 * distinguished, it is the 99.5th percentile of the values that are not 0.
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

const sumsOf = new WeakMap<Matrix, ThreadSums>();

/** Sums per row; `pages` is the number of pages in columns that the thread used. */
export function threadSums(matrix: Matrix): ThreadSums {
  let sums = sumsOf.get(matrix);
  if (!sums) sumsOf.set(matrix, (sums = sumThreads(matrix)));
  return sums;
}

function sumThreads(matrix: Matrix): ThreadSums {
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
