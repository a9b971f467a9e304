// SPDX-License-Identifier: Apache-2.0
// A machine as Python writes it (src/numascape/report/machine_page.py).

export interface ShownNode {
  node: number;
  memory: string;
  /** Its CPUs as ranges; empty: it has none. */
  cpus: string;
  /** The CPUs that may be used, if these are not all of them. */
  allowed: string;
  caches: string;
}

export interface ShownPackage {
  title: string;
  nodes: ShownNode[];
}

export interface ShownMatrix {
  title: string;
  unit: string;
  digits: number;
  /** Rows: nodes of CPUs; columns: nodes of memory; null: unknown. */
  values: (number | null)[][];
  sources: string[];
}

export interface MachineContent {
  name: string;
  packages: ShownPackage[];
  nodes: number[];
  matrices: ShownMatrix[];
  /** The source of the topology; empty: unknown. */
  topology: string;
  notes: string[];
}
