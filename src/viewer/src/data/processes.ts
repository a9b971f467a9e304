// SPDX-License-Identifier: Apache-2.0
// Running processes at one moment as Python writes them (src/numascape/report/process_page.py).
// Memory is in bytes.

export interface NodeUse {
  /** -1, the last one: pages whose node the kernel does not report. */
  node: number;
  anonymous: number;
  files: number;
  /** The part of the files' bytes that others of these processes map, too. */
  shared: number;
  /** The part of both in pages of 2 MiB or more; null: this kernel does not report it. */
  huge: number | null;
  /** Threads that ran last on a CPU of the node. */
  threads: number;
  /** Threads that may run on CPUs of this node only. */
  bound: number;
  cpus: string;
}

export interface LiveStructure {
  name: string;
  kind: string;
  file: string;
  source: string;
  anonymous: number;
  files: number;
  huge: number;
  swapped: number;
  /** Bytes, in the order of the nodes. */
  nodes: number[];
  policy: string;
  /** The node of the pages in each of equal ranges of addresses, or one of NO_NODE. */
  strip: number[];
  /** By node, in their order: percent of each of more such ranges; empty: nothing on the node. */
  positions: number[][];
  /** Only of several processes together. */
  users?: Users;
}

/** Instead of a node in a strip: it is unknown, no node dominates, nothing is in memory. */
export const NO_NODE = { unknown: -1, several: -2, nothing: -3 } as const;

/** In which processes a structure is. */
export interface Users {
  /** The only one; null: there are several. */
  pid: number | null;
  count: number;
  /** Whether they map the same memory. */
  shared: boolean;
}

export interface LiveThread {
  tid: number;
  name: string;
  cpu: number;
  /** -1: unknown. */
  node: number;
  /** CPUs that it may use, as ranges. */
  allowed: string;
}

/** The memory of a process at one moment, or of several together. */
export interface LiveMemory {
  time: string;
  nodes: NodeUse[];
  structures: LiveStructure[];
  more_structures: number;
  notes: string[];
}

export interface LiveProcess extends LiveMemory {
  pid: number;
  name: string;
  threads: LiveThread[];
  more_threads: number;
}

export interface Processes {
  /** The one with the most memory first. */
  processes: LiveProcess[];
  /** All of them, with shared memory counted once; null: there is only one. */
  together: LiveMemory | null;
}
