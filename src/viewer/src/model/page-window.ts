// SPDX-License-Identifier: Apache-2.0
// Requests windows of single pages, where the report sums pages up, from the server of the page
// (src/numascape/view). A report in a file has no server and requests nothing.

import { rowBegins } from "../model/matrix";
import type { Matrix } from "../model/matrix";
import { cellsInLines } from "../model/memory-lines";
import type { Cells, Column, Structure } from "./report";
import { readBlock } from "./unpack";

/** Columns of a window: those of a wide screen, on both sides of which is as much again. */
export const COLUMNS = 4096;
/** Fewest columns that a view is drawn with before finer ones are asked for. */
const ENOUGH = 1024;

/** Pages first .. end of an entry, in some phases (null: all), in memory lines or accesses. */
export interface WindowQuery {
  structure: number;
  instance: number;
  first: number;
  end: number;
  phases: readonly number[] | null;
  lines: boolean;
}

export interface PageWindow {
  query: WindowQuery;
  pagesPerColumn: number;
  /** Its columns are those of the window only; its length is the structure's. */
  matrix: Matrix;
}

interface Answer {
  pages_per_column: number;
  columns: { start: Column; pages: Column; touched: Column };
  cells: Omit<Cells, "begin">;
  first_touches: { row: Column; column: Column; pages: Column; place: Column };
}

/** The window to ask for so that pages x0 .. x1 can be drawn, or undefined: they are fine enough. */
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

/** Whether `window` shows what is asked for, no coarser than `query` would be. */
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

export function addressOf(detail: string, query: WindowQuery): string {
  const parameters = new URLSearchParams({
    structure: String(query.structure),
    from: String(query.first),
    to: String(query.end),
    columns: String(COLUMNS),
  });
  if (query.instance >= 0) parameters.set("instance", String(query.instance));
  if (query.phases) parameters.set("phases", query.phases.join(","));
  return `${detail}?${parameters}`;
}

/** Throws when the server does not answer, or refuses. */
export async function fetchWindow(
  detail: string,
  query: WindowQuery,
  size: { threads: number; length: number },
  signal: AbortSignal,
): Promise<PageWindow> {
  const response = await fetch(addressOf(detail, query), { signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  return parseWindow(new Uint8Array(await response.arrayBuffer()), query, size);
}

export function parseWindow(
  block: Uint8Array,
  query: WindowQuery,
  { threads, length }: { threads: number; length: number },
): PageWindow {
  const tables = ["columns", "cells", "first_touches"];
  const answer = readBlock(block, { format: "numascape-window", version: 1, tables }) as Answer;
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
