// SPDX-License-Identifier: Apache-2.0
// Mappings of tasks to cores, as Python writes them (src/numascape/report/balance.py).

export interface SimulatedTimeline {
  /** The index of its first cell in the columns of the activity. */
  at: number;
  /** Seconds of the whole simulation; ends and durations of its iterations in seconds. */
  end: number;
  ends: number[];
  times: number[];
}

export interface Result {
  label: string;
  imbalance: number;
  communication: number;
  /** Bytes between nodes. */
  off_node: number;
  migrations: number;
  relabelled: number;
  migrated_bytes: number;
  /** The time of the algorithm itself. */
  milliseconds: number;
  core_memory: number;
  cores_over: number;
  /** Shares of messages, in the order of the names. */
  levels: number[];
  /** For each bar, the longest time of its cores; 1 is perfect balance. */
  loads: number[];
  /** From a group of nodes (row) to another one (column). */
  traffic: number[][];
  moves: number[][];
  timeline: SimulatedTimeline | null;
}

/** The activity of rows of cores in parts of the simulated time, from 0 to 255. */
export interface Activity {
  work: ArrayLike<number>;
  communication: ArrayLike<number>;
  migration: ArrayLike<number>;
}

export interface Balance {
  file: string;
  target: string;
  tasks: number;
  /** The tasks are threads of a trace. */
  are_threads: boolean;
  messages: number;
  cores: number;
  node_count: number;
  /** The unit of the traffic: bytes, messages, or shared accesses. */
  unit: string;
  /** Rows of matrices: a node, or several neighbours, such as 4-7. */
  groups: string[];
  levels: string[];
  has_memory: boolean;
  cores_per_bar: number;
  /** The node of the first core of each bar. */
  bar_nodes: number[];
  cores_per_row: number;
  row_nodes: number[];
  /** The number of parts of the simulated time. */
  parts: number;
  /** Simulated iterations before the balancing. */
  before: number;
  /** The first one is the present mapping. */
  results: Result[];
  activity: Activity;
}
