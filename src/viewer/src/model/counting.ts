// SPDX-License-Identifier: Apache-2.0
// Says what a run's counts mean: not every recorder sees every access, and a page of a run with
// modelled caches also counts the lines from memory.

import type { Run } from "../data/report";
import type { Measure } from "./matrix";

/** `first touches`: one for each page, and nothing of later accesses. */
export type Counting = "accesses" | "first touches" | "samples" | "memory lines";

export function counting({ recorder }: Run): Counting {
  return recorder.counts ?? "accesses";
}

/** Whether accesses after a page's first one are in the counts. */
export function seesAccesses(run: Run): boolean {
  return counting(run) !== "first touches";
}

/** Whether it is known which threads made the accesses. */
export function knowsThreads({ recorder }: Run): boolean {
  return recorder.by_thread ?? true;
}

/** Words for what is counted; `reads` and `writes` are the report's columns of that name. */
export interface Words {
  all: string;
  reads: string;
  writes: string;
  /** Headings of columns. */
  readsHeading: string;
  writesHeading: string;
  /** Names of columns in saved tables. */
  columns: { all: string; reads: string; writes: string };
}

const ACCESSES: Words = {
  all: "accesses",
  reads: "reads",
  writes: "writes",
  readsHeading: "Reads",
  writesHeading: "Writes",
  columns: { all: "accesses", reads: "reads", writes: "writes" },
};

const MEMORY_LINES: Words = {
  all: "memory lines",
  reads: "lines from memory",
  writes: "lines to memory",
  readsHeading: "From memory",
  writesHeading: "To memory",
  columns: {
    all: "lines_from_and_to_memory",
    reads: "lines_from_memory",
    writes: "lines_to_memory",
  },
};

const WORDS: Record<Counting, Words> = {
  accesses: ACCESSES,
  "first touches": { ...ACCESSES, all: "pages touched" },
  samples: { ...ACCESSES, all: "samples" },
  "memory lines": MEMORY_LINES,
};

export function wordsOf(run: Run): Words {
  return WORDS[counting(run)];
}

/** The unit of a measure: accesses, reads, lines from memory, ... */
export function unitOf(run: Run, measure: Measure): string {
  const { all, reads, writes } = wordsOf(run);
  return { both: all, reads, writes }[measure];
}

/** The error of a share of one half in a run of samples; in 95 of 100 runs, it is smaller. */
export function shareError({ recorder, reads, writes }: Run): number {
  const samples = Math.min(reads + writes, recorder.moments || Infinity);
  return samples > 0 ? Math.min(1, 0.98 / Math.sqrt(samples)) : 1;
}
