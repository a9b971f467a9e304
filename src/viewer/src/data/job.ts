// SPDX-License-Identifier: Apache-2.0
// The page of a job as Python writes it (src/numascape/report/job.py), with columns unpacked.
//
// In the shapes below, R is the number of ranks, and S of structures in the heat map.

import type { Column } from "./report";

export interface JobAbout {
  name: string;
  /** The program, its ranks and hosts, and the counts; then remarks about the recording. */
  sentences: string[];
  program: string;
  launcher: string;
  size: number | null;
  ranks: number;
  hosts: number;
  threads: number;
  started: string;
  wall_s: number | null;
  counts: string[];
  pages: number;
  reads: number;
  writes: number;
  /** The error of the number of all accesses, as a share of it; 0: all were counted. */
  estimate_error: number;
  /** The verdict, in one line. */
  conclusion: string;
  /** The address above the pages of ranks; only in a page that `numascape view` serves. */
  rank_url?: string;
}

/** Ranks that do the same; outliers have a reason. */
export interface RankClass {
  /** The ranks as ranges: 0-3,7. */
  ranks: string;
  count: number;
  representative: number;
  reason: string;
  /** The structures that the representative uses most, with their shares. */
  main: string[];
}

export interface JobFinding {
  kind: string;
  name: string;
  place: string;
  ranks: number;
  who: string;
  /** The part of the accesses of all ranks that could become local. */
  share: number;
  worst: number;
  worst_share: number;
  why: string;
  advice: string[];
  to_do: boolean;
}

export interface JobStructure {
  /** The name, without numbers if it is different in each rank or host. */
  label: string;
  kind: string;
  ranks: number;
  size: number;
  reads: number;
  writes: number;
  known: number;
  remote: number;
  share: number;
  imbalance: number;
  busiest: number;
}

export interface SharedMemory {
  name: string;
  host: string;
  size: string;
  ranks: number;
  accesses: number;
  first_rank: number;
  first_share: number;
  foreign_share: number;
}

/** A host and the nodes on which some of its ranks may run. */
export interface Place {
  host: string;
  on: string;
  ranks: number;
  first: number;
  threads: number;
  pages: number;
  known: number;
  remote: number;
  imbalance: number;
  busiest: number;
  accesses: number;
}

export interface Job {
  about: JobAbout;
  /** Largest first; outliers last. */
  classes: RankClass[];
  findings: JobFinding[];
  structures: JobStructure[];
  shared: SharedMemory[];
  places: Place[];
  /** R each; `place` and `group` are indices into places and classes; `status`: exit status + 1. */
  ranks: Record<"rank" | "place" | "group" | "status" | "threads" | "reads" | "writes", Column>;
  /** S x R; `remote`: 1 + thousandths, 0: unknown; `imbalance`: thousandths. */
  cells: { accesses: Column; remote: Column; imbalance: Column };
  /** Ranks whose pages are in this file, ascending. */
  own: number[];
}
