// SPDX-License-Identifier: Apache-2.0
// Predictions for one run on one machine, as Python writes them
// (src/numascape/report/prediction.py). N is the number of nodes.

import type { Machine } from "./report";

export interface PredictedPhase {
  name: string;
  seconds: number;
  limit: string;
}

export interface Policy {
  label: string;
  seconds: number;
  /** Times over that of the observed run; null: that one takes no time. */
  relative: number | null;
  low: number | null;
  high: number | null;
  limit: string;
  limit_kind: "memory" | "link" | "cores" | "thread" | "nothing";
  /** The remote share of the bytes from memory and back. */
  remote: number;
  extra_bytes: number;
  nodes: number[];
  /** Bytes by row: node of the CPU, then node of the memory (N x N). */
  traffic: number[];
  /** The pages of each structure on each node; empty: not known. */
  pages: number[][];
  /** Structures of which each node has a copy. */
  copied: number[];
  phases: PredictedPhase[];
}

export interface PredictedStructure {
  name: string;
  kind: string;
  file: string;
  line: number;
  share: number;
  /** The number of touched pages. */
  pages: number;
}

export interface Prediction {
  file: string;
  program: string;
  command: string;
  threads: number;
  machine: Machine;
  conclusion: string;
  assumed: string[];
  policies: Policy[];
  structures: PredictedStructure[];
}
