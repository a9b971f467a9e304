// SPDX-License-Identifier: Apache-2.0
// Requests windows of single pages, where the report sums pages up, from the server of the page
// (src/numascape/view). A report in a file has no server and requests nothing.

import type { Cells, Column } from "./report";
import { readBlock } from "./unpack";

/** Columns of a window. It is twice as wide as the view, so that the reader can move. */
export const COLUMNS = 4096;

/** Pages first .. end of an entry, in some phases (null: all), in memory lines or accesses. */
export interface WindowQuery {
  structure: number;
  instance: number;
  first: number;
  end: number;
  phases: readonly number[] | null;
  lines: boolean;
}

export interface WindowAnswer {
  pages_per_column: number;
  columns: { start: Column; pages: Column; touched: Column };
  cells: Omit<Cells, "begin">;
  first_touches: { row: Column; column: Column; pages: Column; place: Column };
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
  signal: AbortSignal,
): Promise<WindowAnswer> {
  const response = await fetch(addressOf(detail, query), { signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  return readWindow(new Uint8Array(await response.arrayBuffer()));
}

export function readWindow(block: Uint8Array): WindowAnswer {
  const tables = ["columns", "cells", "first_touches"];
  return readBlock(block, { format: "numascape-window", version: 1, tables }) as WindowAnswer;
}
