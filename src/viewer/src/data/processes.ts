// SPDX-License-Identifier: Apache-2.0
// Running processes at one moment as Python writes them (src/numascape/report/process_page.py).
// Memory is in bytes.

export interface NodeUse {
  /** -1, the last one: pages whose node the kernel does not report. */
  node: number;
  anonymous: number;
  files: number;
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
  /** Bytes, in the order of the process' nodes. */
  nodes: number[];
  policy: string;
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

export interface LiveProcess {
  pid: number;
  name: string;
  time: string;
  nodes: NodeUse[];
  structures: LiveStructure[];
  more_structures: number;
  threads: LiveThread[];
  more_threads: number;
  notes: string[];
}

export interface Processes {
  processes: LiveProcess[];
}
