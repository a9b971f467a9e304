// SPDX-License-Identifier: Apache-2.0
// The effect of a file in the page cache on a program, as Python writes it
// (src/numascape/report/experiment.py).

/** One size of the file in one way of running. Sizes, caches and what was freed are in bytes. */
export interface Point {
  size: number;
  way: string;
  /** MFlop/s of the samples. */
  median: number;
  low: number;
  high: number;
  /** Share of the pages that are on the node of their worker. */
  local: number;
  freed_by_kswapd: number;
  freed_by_program: number;
  /** By node: page cache before the program, and pages of the program. */
  cache: number[];
  pages: number[];
}

export interface Experiment {
  conclusion: string;
  notes: string[];
  triad_bytes: number;
  workers: number;
  /** The workers are processes, not threads. */
  processes: boolean;
  nodes: number[];
  sizes: number[];
  ways: string[];
  points: Point[];
}
