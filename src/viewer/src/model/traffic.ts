// SPDX-License-Identifier: Apache-2.0
// Accesses by the node of the thread and the node of the page: local and remote ones.

import type { Column, Report } from "../data/report";

/** Numbers of accesses; `unknown` if the node of the thread or page is not known. */
export interface Split {
  local: number;
  remote: number;
  unknown: number;
}

export interface NodeTraffic {
  nodes: number[];
  /** Rows and columns: one per node, then one for several or unknown nodes. */
  size: number;
  /** Accesses by threads of row r to pages of column c at r * size + c. */
  accesses: Float64Array;
  rowSums: Float64Array;
  columnSums: Float64Array;
  split: Split;
}

/** The traffic in the chosen phases. */
export function trafficOf({ traffic }: Report, phases: readonly number[]): NodeTraffic {
  const size = traffic.nodes.length + 1;
  const accesses = new Float64Array(size * size);
  for (const phase of phases) {
    const first = phase * size * size;
    for (let i = 0; i < accesses.length; i++) accesses[i]! += traffic.accesses[first + i] ?? 0;
  }
  return summedUp([...traffic.nodes], accesses);
}

export function summedUp(nodes: number[], accesses: Float64Array): NodeTraffic {
  const size = nodes.length + 1;
  const rowSums = new Float64Array(size);
  const columnSums = new Float64Array(size);
  const split: Split = { local: 0, remote: 0, unknown: 0 };
  accesses.forEach((number, i) => {
    const row = Math.floor(i / size);
    const column = i % size;
    rowSums[row]! += number;
    columnSums[column]! += number;
    if (row === nodes.length || column === nodes.length) split.unknown += number;
    else if (row === column) split.local += number;
    else split.remote += number;
  });
  return { nodes, size, accesses, rowSums, columnSums, split };
}

/** Split of the accesses to the structure at `position`; `total` is their number. */
export function structureSplit(
  report: Report,
  position: number,
  phases: readonly number[],
  total: number,
): Split {
  const { local, remote } = report.traffic;
  return splitOf(local, remote, position * report.phases.length, phases, total);
}

/** Split of the accesses of the thread in `row`; `total` is their number. */
export function threadSplit(
  report: Report,
  row: number,
  phases: readonly number[],
  total: number,
): Split {
  const { thread_local: local, thread_remote: remote } = report.traffic;
  return splitOf(local, remote, row * report.phases.length, phases, total);
}

function splitOf(
  local: Column,
  remote: Column,
  first: number,
  phases: readonly number[],
  total: number,
): Split {
  const split = { local: 0, remote: 0, unknown: 0 };
  for (const phase of phases) {
    split.local += local[first + phase] ?? 0;
    split.remote += remote[first + phase] ?? 0;
  }
  split.unknown = Math.max(0, total - split.local - split.remote);
  return split;
}

export function total({ local, remote, unknown }: Split): number {
  return local + remote + unknown;
}

/** Remote accesses as a part of all. */
export function remoteShare(split: Split): number {
  return split.remote / Math.max(1, total(split));
}

/** Remote traffic below this share of the accesses is not worth the reader's time. */
const MINOR = 0.05;
/** A node serves too much when it has this share of the accesses, and threads run elsewhere. */
const CROWDED = 0.6;
const UNSURE = 0.2;

/** Sentences about what the traffic shows. They are computed for the chosen phases. */
export interface TrafficReading {
  see: string;
  advice: string[];
}

export function readTraffic(
  traffic: NodeTraffic,
  percent: (share: number) => string,
  unit = "accesses",
) {
  const { nodes, size, split, rowSums, columnSums } = traffic;
  const all = Math.max(1, total(split));
  const advice: string[] = [];
  const busiest = nodes.reduce((best, _, i) => (columnSums[i]! > columnSums[best]! ? i : best), 0);
  const elsewhere = 1 - (rowSums[busiest]! + rowSums[size - 1]!) / all;
  const crowded = columnSums[busiest]! / all >= CROWDED && elsewhere >= 1 - CROWDED;
  if (crowded) {
    advice.push(
      `${percent(columnSums[busiest]! / all)} of the ${unit} go to the memory of node ` +
        `${nodes[busiest]}, but many threads run on other nodes. Its memory controller is the ` +
        "bottleneck. Initialise in parallel, or interleave the pages.",
    );
  }
  if (split.remote / all >= MINOR) {
    advice.push(
      "Sort the structures below by Remote: the first ones cause the traffic between nodes. " +
        "Initialise each part of them in the thread that uses it, and pin the threads.",
    );
  }
  if (split.unknown / all >= UNSURE) {
    advice.push(
      `The node of ${percent(split.unknown / all)} of the ${unit} is unknown, mostly because ` +
        "threads moved between nodes. Pin them (OMP_PLACES=cores OMP_PROC_BIND=close, or " +
        "numactl) and record again.",
    );
  }
  if (advice.length === 0) {
    advice.push("Almost no traffic between nodes. Pin the threads to keep it so.");
  }
  const see =
    `${percent(split.local / all)} of the ${unit} are local, ` +
    `${percent(split.remote / all)} go to the memory of another node` +
    (split.unknown / all >= UNSURE ? `, and ${percent(split.unknown / all)} are unknown.` : ".");
  return { see, advice } satisfies TrafficReading;
}
