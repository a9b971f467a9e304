// SPDX-License-Identifier: Apache-2.0
// Two runs compared, as Python writes it (src/numascape/comparison/page_data.py), with the reports
// of both. A is the first run, B the second one.

import type { Report } from "./report";

export interface ComparedRun {
  file: string;
  program: string;
  command: string;
  threads: number;
  machine: string;
  started: string;
  counts: string;
  /** The conclusion about this run alone. */
  verdict: string;
  /** The address of its report. */
  address: string;
}

/** A number of both runs, as text; `tone`: 1 is better, -1 worse. */
export interface RunMeasure {
  name: string;
  before: string;
  after: string;
  change: string;
  tone: number;
}

/** The use of a structure in one run; null: unknown. */
export interface ComparedSide {
  /** The position in the run's report; -1: it is left out there. */
  position: number;
  /** Structures at this place, of which the figure shows the most used one. */
  alike: number;
  size: number;
  instances: number;
  accesses: number;
  /** The share of the run's accesses. */
  share: number;
  foreign: number | null;
  remote: number | null;
  first: number | null;
  first_share: number | null;
  /** Node, and how many pages are on it. */
  nodes: [number, number][];
}

export interface ComparedStructure {
  name: string;
  kind: string;
  function: string;
  file: string;
  line: number;
  /** The use in A and in B; null: the run does not have the structure. */
  sides: [ComparedSide | null, ComparedSide | null];
}

export interface ComparedFinding {
  kind: string;
  name: string;
  /** The index of the structure; -1: the run as a whole, or a structure that is left out. */
  row: number;
  why: string;
  advice: string[];
}

export interface Comparison {
  conclusion: string;
  cautions: string[];
  several_nodes: boolean;
  runs: [ComparedRun, ComparedRun];
  measures: RunMeasure[];
  structures: ComparedStructure[];
  left_out: number;
  findings: Record<"gone" | "new" | "kept", ComparedFinding[]>;
  reports: [Report, Report];
}
