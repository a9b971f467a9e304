// SPDX-License-Identifier: Apache-2.0
// Folds columns and rows into bins for the screen: a bin is at least one pixel wide.

import type { Matrix, Measure } from "./matrix";
import { columnAt, measured } from "./matrix";
import type { Viewport } from "./viewport";

/** Bins along one axis, in pixels; `weight` is the number of pages or threads in a bin. */
export interface Axis {
  /** Bin of each item from `first` on, -1 for items that are not drawn. */
  binOf: Int32Array;
  first: number;
  left: number[];
  right: number[];
  weight: number[];
}

/** Mean accesses per page and thread; value of bin (x, y) at y * x.left.length + x. */
export interface Binned {
  x: Axis;
  y: Axis;
  value: Float64Array;
}

export function columnBins(matrix: Matrix, view: Viewport, pixels: number): Axis {
  // Beside a larger structure, the view may be beyond the end of this one.
  if (view.x0 >= matrix.length) return gather([], 0, pixels);
  const scale = pixels / (view.x1 - view.x0);
  const first = Math.max(0, columnAt(matrix, view.x0));
  const end = Math.min(view.x1, matrix.length);
  const items: Item[] = [];
  for (let c = first; c < matrix.start.length && matrix.start[c]! < end; c++) {
    const from = (matrix.start[c]! - view.x0) * scale;
    const to = from + matrix.pages[c]! * scale;
    // Untouched ranges stay empty and do not reduce the values of the pages next to them.
    items.push({ from, to, weight: matrix.touched[c]! > 0 ? matrix.pages[c]! : 0 });
  }
  return gather(items, first, pixels);
}

export function rowBins(rows: number, view: Viewport, pixels: number): Axis {
  const scale = pixels / (view.y1 - view.y0);
  const first = Math.max(0, Math.floor(view.y0));
  const items: Item[] = [];
  for (let r = first; r < rows && r < view.y1; r++) {
    const from = (r - view.y0) * scale;
    items.push({ from, to: from + scale, weight: 1 });
  }
  return gather(items, first, pixels);
}

interface Item {
  from: number;
  to: number;
  weight: number;
}

function gather(items: Item[], first: number, pixels: number): Axis {
  const axis: Axis = {
    binOf: new Int32Array(items.length).fill(-1),
    first,
    left: [],
    right: [],
    weight: [],
  };
  items.forEach(({ from, to, weight }, i) => {
    if (weight === 0) return;
    const start = to - from < 1 ? Math.floor(from) : Math.round(from);
    const left = Math.max(0, Math.min(pixels - 1, start));
    const right = Math.min(pixels, Math.max(left + 1, Math.round(to)));
    const last = axis.left.length - 1;
    if (last >= 0 && axis.left[last] === left) {
      axis.right[last] = Math.max(axis.right[last]!, right);
      axis.weight[last]! += weight;
      axis.binOf[i] = last;
    } else {
      if (last >= 0 && axis.right[last]! > left) axis.right[last] = left;
      axis.binOf[i] = last + 1;
      axis.left.push(left);
      axis.right.push(right);
      axis.weight.push(weight);
    }
  });
  return axis;
}

export function binAccesses(matrix: Matrix, measure: Measure, x: Axis, y: Axis): Binned {
  const width = x.left.length;
  const value = new Float64Array(width * y.left.length);
  const { accesses } = matrix;
  eachRow(y, (row, line) => {
    const [from, to] = visible(accesses, row, x);
    for (let i = from; i < to; i++) {
      const bin = x.binOf[accesses.column[i]! - x.first]!;
      if (bin >= 0) value[line * width + bin]! += measured(accesses, measure, i);
    }
  });
  y.weight.forEach((rows, line) => {
    for (let bin = 0; bin < width; bin++) value[line * width + bin]! /= rows * x.weight[bin]!;
  });
  return { x, y, value };
}

/** Pages first touched per bin, and the last row that touched some; same order as Binned.value. */
export function binFirstTouches(
  matrix: Matrix,
  x: Axis,
  y: Axis,
): { pages: Float64Array; row: Int32Array } {
  const width = x.left.length;
  const pages = new Float64Array(width * y.left.length);
  const row = new Int32Array(pages.length).fill(-1);
  const { firstTouches } = matrix;
  eachRow(y, (thread, line) => {
    const [from, to] = visible(firstTouches, thread, x);
    for (let i = from; i < to; i++) {
      const bin = x.binOf[firstTouches.column[i]! - x.first]!;
      if (bin < 0) continue;
      pages[line * width + bin]! += firstTouches.pages[i]!;
      row[line * width + bin] = thread;
    }
  });
  return { pages, row };
}

function eachRow(y: Axis, visit: (row: number, bin: number) => void): void {
  y.binOf.forEach((bin, i) => {
    if (bin >= 0) visit(y.first + i, bin);
  });
}

function visible(
  { rowBegin, column }: { rowBegin: Uint32Array; column: ArrayLike<number> },
  row: number,
  x: Axis,
): [number, number] {
  const end = rowBegin[row + 1]!;
  const from = lowerBound(column, rowBegin[row]!, end, x.first);
  return [from, lowerBound(column, from, end, x.first + x.binOf.length)];
}

function lowerBound(values: ArrayLike<number>, low: number, high: number, wanted: number): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Mean over the other axis: per bin of x over all visible threads, or of y over pages. */
export function averages({ x, y, value }: Binned): { column: Float64Array; row: Float64Array } {
  const width = x.left.length;
  const column = new Float64Array(width);
  const row = new Float64Array(y.left.length);
  const threads = y.weight.reduce((sum, weight) => sum + weight, 0);
  const pages = x.weight.reduce((sum, weight) => sum + weight, 0);
  for (let line = 0; line < row.length; line++) {
    for (let bin = 0; bin < width; bin++) {
      const mean = value[line * width + bin]!;
      column[bin]! += (mean * y.weight[line]!) / threads;
      row[line]! += (mean * x.weight[bin]!) / pages;
    }
  }
  return { column, row };
}

/** The content of an overview strip, per bin. */
export interface Strip {
  x: Axis;
  /** The group of rows with most accesses (-1: none) and its share of them. */
  row: Int32Array;
  share: Float64Array;
  /** Mean accesses per page by all threads. */
  mean: Float64Array;
}

/** `groups` are rows that count together, such as a node's threads; by default each is alone. */
export function stripOf(
  matrix: Matrix,
  pixels: number,
  groups: readonly (readonly number[])[] = Array.from({ length: matrix.threads }, (_, r) => [r]),
): Strip {
  const view = { x0: 0, x1: Math.max(1, matrix.length), y0: 0, y1: matrix.threads };
  const x = columnBins(matrix, view, pixels);
  const width = x.left.length;
  const mean = new Float64Array(width);
  const most = new Float64Array(width);
  const row = new Int32Array(width).fill(-1);
  const own = new Float64Array(width);
  const { accesses } = matrix;
  const eachEntry = (rows: readonly number[], visit: (bin: number, i: number) => void) => {
    for (const r of rows) {
      for (let i = accesses.rowBegin[r]!; i < accesses.rowBegin[r + 1]!; i++) {
        const bin = x.binOf[accesses.column[i]!]!;
        if (bin >= 0) visit(bin, i);
      }
    }
  };
  groups.forEach((rows, group) => {
    eachEntry(rows, (bin, i) => (own[bin]! += measured(accesses, "both", i)));
    eachEntry(rows, (bin) => {
      if (own[bin] === 0) return;
      if (own[bin]! > most[bin]!) {
        most[bin] = own[bin]!;
        row[bin] = group;
      }
      mean[bin]! += own[bin]! / x.weight[bin]!;
      own[bin] = 0;
    });
  });
  const share = most.map((accesses, bin) => accesses / (mean[bin]! * x.weight[bin]!) || 0);
  return { x, row, share, mean };
}
