// SPDX-License-Identifier: Apache-2.0
// The report as Python writes it (src/numascape/report/data.py), with columns unpacked.

/** Unsigned integers; up to 2^53 exactly. */
export type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

export interface Reading {
  see: string[];
  advice: string[];
  /** Accesses that the advice could bring nearer to their threads. */
  stake: number;
  verdict: string;
}

export interface Structure {
  structure: number;
  name: string;
  kind: string;
  size: number;
  pages: number;
  instances: number;
  module: string;
  function: string;
  file: string;
  line: number;
  call_stack: string[];
  named: boolean;
  reads: number;
  writes: number;
  threads: number;
  touched_pages: number;
  pages_per_column: number;
  reading: Reading;
}

export interface Thread {
  thread: number;
  process: number;
  name: string;
  created_ns: number | null;
  ended_ns: number | null;
  cpus: number[];
  nodes: number[];
}

export interface Run {
  program: string;
  arguments: string[];
  recorder: { name?: string; version?: string };
  host: { name?: string; kernel?: string; cpus?: number; nodes?: number; memory_bytes?: number };
  page_size: number;
  started: string;
  times: { wall_s?: number | null; cpu_s?: number | null; native_cpu_s?: number | null };
  exit_status: number | null;
  attributed_share: number | null;
  unseen: string[];
  reads: number;
  writes: number;
  touched_pages: number;
}

export interface Places {
  function: string[];
  file: string[];
  line: number[];
}

export interface Columns {
  begin: Column;
  start: Column;
  pages: Column;
  touched: Column;
}

export interface Cells {
  begin: Column;
  row: Column;
  column: Column;
  reads: Column;
  writes: Column;
}

export interface FirstTouches {
  begin: Column;
  row: Column;
  column: Column;
  pages: Column;
  place: Column;
}

export interface Report {
  run: Run;
  threads: Thread[];
  structures: Structure[];
  places: Places;
  columns: Columns;
  cells: Cells;
  first_touches: FirstTouches;
  folded: string[];
}
