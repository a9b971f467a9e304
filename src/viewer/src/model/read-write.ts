// SPDX-License-Identifier: Apache-2.0
// Finds which threads read and which write a structure.

import { threadSums } from "./matrix";
import type { Matrix } from "./matrix";

export const NEITHER = 0;
export const READS = 1;
export const WRITES = 2;
export const BOTH = 3;

export interface ReadWrite {
  /** NEITHER, READS, WRITES or BOTH per row. */
  use: Uint8Array;
  neverRead: number[];
  neverWrite: number[];
}

/** `threads` gives the thread number of each row. */
export function readWriteOf(matrix: Matrix, threads: readonly number[]): ReadWrite {
  const { reads, writes } = threadSums(matrix);
  const use = Uint8Array.from(
    threads,
    (_, row) => (reads[row]! > 0 ? READS : 0) | (writes[row]! > 0 ? WRITES : 0),
  );
  const without = (flag: number) => threads.filter((_, row) => (use[row]! & flag) === 0);
  return { use, neverRead: without(READS), neverWrite: without(WRITES) };
}
