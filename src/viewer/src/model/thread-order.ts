// SPDX-License-Identifier: Apache-2.0
// Orders the threads in figures: by number, by node, or next to threads that share their pages.

import type { Column, Thread } from "../data/report";
import { clusterOrder } from "./cluster";
import type { AccessRows, FirstTouchRows, Matrix } from "./matrix";
import type { ThreadOrder } from "./page-state";

/** Neighbouring lines under one name; `begin` and `end` are lines. */
export interface LineGroup {
  name: string;
  begin: number;
  end: number;
}

export interface Arrangement {
  /** Row of the report's threads on each line, and line of each row. */
  rows: Uint32Array;
  lines: Uint32Array;
  groups: LineGroup[];
}

export function arrange(order: ThreadOrder, matrix: Matrix, threads: Thread[]): Arrangement {
  if (order === "node") return byNode(threads);
  if (order === "sharing") return arrangement(clusterOrder(matrix), []);
  return arrangement(
    Uint32Array.from(threads, (_, row) => row),
    [],
  );
}

function arrangement(rows: Uint32Array, groups: LineGroup[]): Arrangement {
  const lines = new Uint32Array(rows.length);
  rows.forEach((row, line) => (lines[row] = line));
  return { rows, lines, groups };
}

/** The node that a thread ran on, or undefined: several, or unknown. */
export function nodeOf({ nodes }: Thread): number | undefined {
  return nodes?.length === 1 ? nodes[0] : undefined;
}

function byNode(threads: Thread[]): Arrangement {
  const key = (row: number) => nodeOf(threads[row]!) ?? Infinity;
  const rows = Uint32Array.from(threads, (_, row) => row);
  rows.sort((a, b) => (key(a) === key(b) ? a - b : key(a) - key(b)));
  const groups: LineGroup[] = [];
  rows.forEach((row, line) => {
    const node = nodeOf(threads[row]!);
    const name = node === undefined ? "several or unknown nodes" : `node ${node}`;
    const last = groups[groups.length - 1];
    if (last?.name === name) last.end = line + 1;
    else groups.push({ name, begin: line, end: line + 1 });
  });
  return arrangement(rows, groups);
}

/** `matrix` with its rows in the order of the lines. */
export function inOrder(matrix: Matrix, { rows }: Arrangement): Matrix {
  if (rows.every((row, line) => row === line)) return matrix;
  return {
    ...matrix,
    accesses: orderAccesses(matrix.accesses, rows),
    firstTouches: orderTouches(matrix.firstTouches, rows),
  };
}

function orderAccesses(given: AccessRows, rows: Uint32Array): AccessRows {
  return {
    rowBegin: movedBegins(given.rowBegin, rows),
    column: moved(given.column, given.rowBegin, rows),
    reads: moved(given.reads, given.rowBegin, rows),
    writes: moved(given.writes, given.rowBegin, rows),
  };
}

function orderTouches(given: FirstTouchRows, rows: Uint32Array): FirstTouchRows {
  return {
    rowBegin: movedBegins(given.rowBegin, rows),
    column: moved(given.column, given.rowBegin, rows),
    pages: moved(given.pages, given.rowBegin, rows),
    place: moved(given.place, given.rowBegin, rows),
  };
}

function movedBegins(given: Uint32Array, rows: Uint32Array): Uint32Array {
  const begin = new Uint32Array(rows.length + 1);
  rows.forEach((row, line) => {
    begin[line + 1] = begin[line]! + given[row + 1]! - given[row]!;
  });
  return begin;
}

function moved(values: Column, begin: Uint32Array, rows: Uint32Array): Column {
  const result = values.slice();
  let end = 0;
  for (const row of rows) {
    const part = values.subarray(begin[row]!, begin[row + 1]!);
    result.set(part, end);
    end += part.length;
  }
  return result;
}
