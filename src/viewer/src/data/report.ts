// SPDX-License-Identifier: Apache-2.0
// The report as Python writes it (src/numascape/report/data.py), with columns unpacked.
//
// In the shapes below, S is the number of whole structures, E of all entries (whole structures,
// then single instances of some), T of threads, P of phases, N of nodes.

/** Unsigned integers; up to 2^53 exactly. */
export type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

export interface Reading {
  see: string[];
  advice: string[];
  verdict: string;
}

export interface Structure {
  structure: number;
  name: string;
  kind: string;
  /** The owner, who decides on its memory. */
  owner: "program" | "runtime" | "stack";
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
  /** Number of a single instance, and the position of its structure; -1 for a whole structure. */
  instance: number;
  parent: number;
  /** Address of the first byte modulo 2 MiB, or -1 when unknown (or not the same for all). */
  address_offset: number;
}

/** Findings of one kind at one place in the source, most important first. */
export interface Finding {
  kind: string;
  /** Positions of structures, the most important one first; none: the run as a whole. */
  positions: number[];
  /** The number of structures, including those that are not shown. */
  structures: number;
  /** Whether it needs a fix. */
  to_do: boolean;
  /** The possible gain, and its unit in words. */
  number: string;
  label: string;
  why: string;
  advice: string[];
  /** The names of measured quantities, and their values. */
  evidence: [string, string][];
  figure: string;
  /** 0 to 1. */
  confidence: number;
  place: string;
}

/** P = 1 when no phases were recorded. Times are of the first beginning and the last end. */
export interface Phase {
  name: string;
  file: string;
  line: number;
  start_ns: number;
  end_ns: number;
  repetitions: number;
  reads: number;
  writes: number;
}

/** When the phases ran, in order of time; microseconds since the run's start. */
export interface Spans {
  phase: Column;
  start: Column;
  end: Column;
}

/** Use of the same pages by threads: the sum over pages of min(accesses of i, accesses of j). */
export interface Sharing {
  /** Rows of a matrix, at most 128. */
  groups: number;
  /** Thread row -> matrix row (T). */
  group: Column;
  /** G x G matrices by row: the run's, and if P > 1 then each phase's. */
  accesses: Column;
}

/** Accesses by the node of the thread and of the page, for the placement observed. */
export interface Traffic {
  /** Node numbers; an index of N stands for several nodes or an unknown one. */
  nodes: number[];
  /** Index into nodes (T). */
  thread_node: Column;
  /** P x (N + 1) x (N + 1), by the thread's node, then the page's. */
  accesses: Column;
  /** S x P; what is neither local nor remote is unknown. */
  local: Column;
  remote: Column;
  /** T x P. */
  thread_local: Column;
  thread_remote: Column;
  /** A row for each row of access_paths; absent where lines are counted. */
  path_remote?: Column;
}

/** Data besides the cells, in cache lines; `shared` as in Sharing, the rest as in Traffic. */
export interface MemoryLines {
  /** Lines from memory, and lines back to it (P); all other columns count both. */
  fetched: Column;
  written: Column;
  shared: Column;
  traffic: Column;
  local: Column;
  remote: Column;
  thread_local: Column;
  thread_remote: Column;
}

/** The source places that use a structure; rows are sorted by structure, place, phase. */
export interface Lines {
  /** S + 1. */
  begin: Column;
  phase: Column;
  /** Index into places. */
  place: Column;
  reads: Column;
  writes: Column;
  /** The part of both that is known from samples only. */
  estimated: Column;
}

/** Sampled accesses, or first touches, by the calls that led to them. The calls are a tree. */
export interface AccessPaths {
  /** Empty if the function is unknown; then there may be a `module`. */
  function: string[];
  file: string[];
  line: number[];
  /** The file name of the executable or library. */
  module: string[];
  /** Index of the calling function, which is smaller; -1: none. */
  caller: number[];
  /** One row for each structure, phase and call; the calls above `path` led to it. */
  position: Column;
  phase: Column;
  path: Column;
  /** Samples, or pages. */
  accesses: Column;
}

/** A loop statement of a source file, lines first .. last. */
export interface Loop {
  file: string;
  first: number;
  last: number;
  kind: string;
}

/** Source text from line `first` on. */
export interface SourceWindow {
  file: string;
  first: number;
  text: string[];
}

export interface MachineNode {
  node: number;
  cpus: number[];
  memory_bytes: number;
}

/** Rows: nodes of threads; columns: nodes of pages; both in the machine's order; null: unknown. */
export interface NodeDistance {
  /** NUMA factors. */
  factors: (number | null)[][];
  /** Read latencies in ns. */
  latencies: (number | null)[][];
  /** The sources of the factors. */
  sources: string[];
}

export interface Machine {
  name: string;
  nodes: MachineNode[];
  distance?: NodeDistance;
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
  /** A recorder without `counts` counted accesses. */
  recorder: {
    name?: string;
    version?: string;
    /** `memory lines`: this page has converted the report to them; Python never writes it. */
    counts?: "accesses" | "first touches" | "samples" | "memory lines";
    options?: {
      cache?: { bytes: number; ways: number; line_bytes: number };
      event?: string;
      /** The share of the work that was counted, in bursts; missing: all of it. */
      sample?: number | "auto";
      /** The cost that a changing share was to hold: CPU time over that without recording. */
      cost?: number;
    };
    /** The share that was counted, if it changed during the run. */
    counted_work?: { share: number } | null;
    /** The number of moments at which samples were taken; 0 or missing: one sample at a time. */
    moments?: number;
    /** False: it is unknown which threads made the accesses. One thread stands for all. */
    by_thread?: boolean;
  };
  host: { name?: string; kernel?: string; cpus?: number; nodes?: number; memory_bytes?: number };
  page_size: number;
  started: string;
  times: {
    wall_s?: number | null;
    cpu_s?: number | null;
    native_cpu_s?: number | null;
    /** Estimated during the recorded run. */
    estimated_native_cpu_s?: number | null;
  };
  exit_status: number | null;
  /** Shares of all accesses by what the structures' names refer to, and what would name more. */
  names: { source: number; runtime: number; nothing: number; advice: string[] };
  /** The error of the number of all accesses, as a share of it; 0 or missing: all were counted. */
  estimate_error?: number;
  /** The job of which this is a rank, and the address of its page. */
  job?: { name: string; rank: number; url: string };
  /** The side of the comparison of which this is a run, and the address of the comparison. */
  compared?: { side: "a" | "b"; name: string; url: string };
  /** The address for windows at full detail; only in a page that `numascape view` serves. */
  detail_url?: string;
  unseen: string[];
  /** The findings that the recording cannot show or rule out, and why; empty: none. */
  not_judged?: string;
  /** The conclusion from all findings; empty if there is nothing to conclude. */
  verdict?: string;
  /** The assumptions if the page shows the run on another machine; else empty. */
  laid_out?: string;
  reads: number;
  writes: number;
  touched_pages: number;
}

/** Source places; index 0 is the unknown one. */
export interface Places {
  function: string[];
  file: string[];
  line: number[];
  /** Index into loops, or -1. */
  loop: number[];
}

export interface Columns {
  /** E + 1. */
  begin: Column;
  start: Column;
  pages: Column;
  touched: Column;
}

export interface Cells {
  /** E x P + 1: entry e in phase p has begin[e * P + p] .. begin[e * P + p + 1]. */
  begin: Column;
  row: Column;
  column: Column;
  reads: Column;
  writes: Column;
  /** Cache lines from memory, and back to it; null or absent where they were not counted. */
  memory_lines?: Column | null;
  written_lines?: Column | null;
}

export interface FirstTouches {
  /** E x P + 1. */
  begin: Column;
  row: Column;
  column: Column;
  pages: Column;
  place: Column;
}

/** The parts of the page that differ on another machine; see src/numascape/report/data.py. */
export interface OnMachine {
  machine: Machine;
  verdict: string;
  laid_out: string;
  threads: Pick<Thread, "cpus" | "nodes">[];
  findings: Finding[];
  /** One for each whole structure (S). */
  readings: Reading[];
  traffic: Traffic;
  /** In cache lines; null where these were not counted. */
  line_traffic: Traffic | null;
}

export interface Report {
  run: Run;
  threads: Thread[];
  /** Whole structures, most accessed first; then single instances of some. */
  structures: Structure[];
  /** Most important first; those that need no action last. */
  findings: Finding[];
  phases: Phase[];
  places: Places;
  columns: Columns;
  cells: Cells;
  first_touches: FirstTouches;
  spans: Spans;
  sharing: Sharing;
  traffic: Traffic;
  lines: Lines;
  /** Absent where the run was recorded without a model of the caches. */
  memory_lines?: MemoryLines;
  /** Absent if the callers of accesses are unknown. */
  access_paths?: AccessPaths;
  /** First touches in place of accesses; absent if their callers are unknown. */
  touch_paths?: AccessPaths;
  machine: Machine;
  loops: Loop[];
  /** Absent if the report was made without source text. */
  sources?: SourceWindow[];
  folded: string[];
  /** The run on other machines, which the reader can choose. */
  elsewhere?: OnMachine[];
}
