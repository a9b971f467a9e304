// SPDX-License-Identifier: Apache-2.0
// Groups of threads in the numbers that people see, instead of rows.

import type { Thread } from "../../data/report";
import * as show from "../../model/format";
import { readRanges, writeRanges } from "../../model/page-state";

/** "0-3, 8" for rows whose threads have these numbers. */
export function threadNumbers(rows: readonly number[], threads: readonly Thread[]): string {
  const numbers = rows.map((row) => threads[row]!.thread).sort((a, b) => a - b);
  return writeRanges(numbers).replaceAll(",", ", ");
}

/** Rows of the threads that a text such as "0-3, 8" names; others are passed over. */
export function rowsOf(text: string, threads: readonly Thread[]): number[] {
  const last = threads.reduce((most, { thread }) => Math.max(most, thread), -1);
  const wanted = new Set(readRanges(text, last + 1));
  return threads.flatMap(({ thread }, row) => (wanted.has(thread) ? [row] : []));
}

/** "thread 3" or "threads 0–3, 8". */
export function groupName(rows: readonly number[], threads: readonly Thread[]): string {
  const numbers = rows.map((row) => threads[row]!.thread).sort((a, b) => a - b);
  return `${numbers.length === 1 ? "thread" : "threads"} ${show.ranges(numbers, undefined, 4)}`;
}
