// SPDX-License-Identifier: Apache-2.0
// Windows of single pages, where the report sums pages up: which to request, and their matrix.

import type { WindowAnswer, WindowQuery } from "../data/detail";
import type { Structure } from "../data/report";
import { rowBegins } from "./matrix";
import type { Matrix } from "./matrix";
import { cellsInLines } from "./memory-lines";

/** Fewest columns that a view is drawn with before finer ones are requested. */
const ENOUGH = 1024;

export interface PageWindow {
  query: WindowQuery;
  pagesPerColumn: number;
  /** Its columns are those of the window only; its length is the structure's. */
  matrix: Matrix;
}

/** The window to request to draw pages x0 .. x1; undefined if the columns are fine enough. */
export function windowFor(
  structure: Structure,
  { x0, x1 }: { x0: number; x1: number },
  phases: readonly number[] | null,
  lines = false,
): WindowQuery | undefined {
  const { pages_per_column: coarse, pages } = structure;
  if (coarse <= 1 || (x1 - x0) / ENOUGH >= coarse) return undefined;
  const beside = (x1 - x0) / 2;
  const first = Math.max(0, Math.floor(x0 - beside));
  const end = Math.min(pages, Math.max(first + 1, Math.ceil(x1 + beside)));
  const { structure: number, instance } = structure;
  return { structure: number, instance, first, end, phases, lines };
}

/** Whether a window shows what is wanted, in columns that are fine enough for pages x0 .. x1. */
export function serves(
  { query, pagesPerColumn }: PageWindow,
  wanted: WindowQuery,
  { x0, x1 }: { x0: number; x1: number },
): boolean {
  return (
    query.structure === wanted.structure &&
    query.instance === wanted.instance &&
    String(query.phases) === String(wanted.phases) &&
    query.lines === wanted.lines &&
    query.first <= x0 &&
    query.end >= Math.min(x1, wanted.end) &&
    (pagesPerColumn === 1 || (x1 - x0) / ENOUGH >= pagesPerColumn)
  );
}

/** `answer` in the form of the report's matrices, for a structure of this size. */
export function pageWindow(
  answer: WindowAnswer,
  query: WindowQuery,
  { threads, length }: { threads: number; length: number },
): PageWindow {
  const { columns, first_touches: first } = answer;
  const { row, column, reads, writes } = query.lines ? cellsInLines(answer.cells) : answer.cells;
  return {
    query,
    pagesPerColumn: answer.pages_per_column,
    matrix: {
      threads,
      length,
      ...columns,
      accesses: { column, reads, writes, rowBegin: rowBegins(row, threads) },
      firstTouches: { ...first, rowBegin: rowBegins(first.row, threads) },
    },
  };
}
