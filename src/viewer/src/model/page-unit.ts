// SPDX-License-Identifier: Apache-2.0
// Combines the columns of a matrix to larger pages than the counted ones.

import type { Column } from "../data/report";
import type { PageUnit } from "./page-state";
import type { AccessRows, FirstTouchRows, Matrix } from "./matrix";

export const HUGE_PAGE = 2 << 20;

/** Counted pages per page of `unit`; 1 where the counted pages are as large or larger. */
export function pagesPer(unit: PageUnit, counted: number): number {
  return unit === "2m" ? Math.max(1, Math.round(HUGE_PAGE / counted)) : 1;
}

/** Counted pages of the structure's first large page that lie before the structure. */
export function pagesBefore(per: number, counted: number, addressOffset: number): number {
  return per > 1 && addressOffset >= 0 ? Math.floor(addressOffset / counted) % per : 0;
}

/**
 * Joins the columns whose first page lies in the same large page of `per` counted pages. The first
 * large page begins `before` counted pages before the structure. Untouched ranges are divided at
 * the boundaries of large pages. A column that sums up several pages may extend beyond its large
 * page.
 */
export function foldPages(matrix: Matrix, per: number, before: number): Matrix {
  if (per <= 1) return matrix;
  const { start, pages, touched, threads } = matrix;
  const folded: { start: number[]; pages: number[]; touched: number[] } = {
    start: [],
    pages: [],
    touched: [],
  };
  const columnOf = new Uint32Array(start.length);
  let current = -1;
  /** Add `size` pages from `first` on to the column of their large page. */
  const add = (first: number, size: number, used: number): number => {
    const frame = Math.floor((first + before) / per);
    if (frame !== current || folded.start.length === 0) {
      current = frame;
      folded.start.push(first);
      folded.pages.push(0);
      folded.touched.push(0);
    }
    const last = folded.start.length - 1;
    folded.pages[last]! += size;
    folded.touched[last]! += used;
    return last;
  };
  for (let c = 0; c < start.length; c++) {
    const first = start[c]!;
    const end = first + pages[c]!;
    if (touched[c]! > 0) {
      columnOf[c] = add(first, pages[c]!, touched[c]!);
      continue;
    }
    columnOf[c] = addGap(first, end, per, before, add);
  }
  return {
    threads,
    start: Float64Array.from(folded.start),
    pages: Float64Array.from(folded.pages),
    touched: Float64Array.from(folded.touched),
    length: matrix.length,
    accesses: foldAccesses(matrix.accesses, columnOf, threads),
    firstTouches: foldTouches(matrix.firstTouches, columnOf, threads),
  };
}

/** An untouched stretch: up to the next border, the whole large pages in it, and what is left. */
function addGap(
  first: number,
  end: number,
  per: number,
  before: number,
  add: (first: number, size: number, used: number) => number,
): number {
  const border = Math.min(end, (Math.floor((first + before) / per) + 1) * per - before);
  const column = add(first, border - first, 0);
  const lastBorder = Math.max(border, Math.floor((end + before) / per) * per - before);
  if (lastBorder > border) add(border, lastBorder - border, 0);
  if (end > lastBorder) add(lastBorder, end - lastBorder, 0);
  return column;
}

/** Merged columns of one row are adjacent entries, because both orders are ascending. */
function mergeRuns(
  { rowBegin, column }: { rowBegin: Uint32Array; column: Column },
  columnOf: Uint32Array,
  threads: number,
): { rowBegin: Uint32Array; column: Uint32Array; at: Uint32Array } {
  const merged = new Uint32Array(column.length);
  const at = new Uint32Array(column.length);
  const begin = new Uint32Array(threads + 1);
  let end = 0;
  for (let row = 0; row < threads; row++) {
    begin[row] = end;
    for (let i = rowBegin[row]!; i < rowBegin[row + 1]!; i++) {
      const target = columnOf[column[i]!]!;
      if (end === begin[row] || merged[end - 1] !== target) merged[end++] = target;
      at[i] = end - 1;
    }
  }
  begin[threads] = end;
  return { rowBegin: begin, column: merged.subarray(0, end), at };
}

function foldAccesses(rows: AccessRows, columnOf: Uint32Array, threads: number): AccessRows {
  const { rowBegin, column, at } = mergeRuns(rows, columnOf, threads);
  const reads = new Float64Array(column.length);
  const writes = new Float64Array(column.length);
  at.forEach((target, i) => {
    reads[target]! += rows.reads[i]!;
    writes[target]! += rows.writes[i]!;
  });
  return { rowBegin, column, reads, writes };
}

/** The place is that of the column with most pages first touched. */
function foldTouches(rows: FirstTouchRows, columnOf: Uint32Array, threads: number): FirstTouchRows {
  const { rowBegin, column, at } = mergeRuns(rows, columnOf, threads);
  const pages = new Float64Array(column.length);
  const place = new Uint32Array(column.length);
  const most = new Float64Array(column.length);
  at.forEach((target, i) => {
    const size = rows.pages[i]!;
    pages[target]! += size;
    if (size > most[target]!) {
      most[target] = size;
      place[target] = rows.place[i]!;
    }
  });
  return { rowBegin, column, pages, place };
}

/** How many columns have one user, and how many have several. */
export function sharedColumns(matrix: Matrix): { single: number; shared: number } {
  const users = new Uint32Array(matrix.start.length);
  const { rowBegin, column } = matrix.accesses;
  for (let i = 0; i < rowBegin[matrix.threads]!; i++) users[column[i]!]!++;
  let single = 0;
  let shared = 0;
  for (const count of users) {
    if (count === 1) single++;
    else if (count > 1) shared++;
  }
  return { single, shared };
}
