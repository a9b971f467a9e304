// SPDX-License-Identifier: Apache-2.0
// Computes what is shown of running processes: their memory by node, and the numbers to save.

import type { LiveProcess, LiveStructure } from "../data/processes";
import type { CsvTable } from "./csv";

export interface NodeBytes {
  /** Position among the nodes that are known; the one after the last is unknown. */
  node: number;
  name: string;
  share: number;
}

/** The number of known nodes of the process, which decides the colours. */
export function knownNodes({ nodes }: LiveProcess): number {
  return nodes.filter(({ node }) => node >= 0).length;
}

export function nodeName(node: number): string {
  return node < 0 ? "unknown" : `node ${node}`;
}

/** The nodes with bytes; `bytes` is in the order of the nodes, unknown ones at the end. */
export function nodeShares({ nodes }: LiveProcess, bytes: readonly number[]): NodeBytes[] {
  const all = bytes.reduce((sum, one) => sum + one, 0);
  return nodes.flatMap(({ node }, i) =>
    bytes[i]! > 0 ? [{ node: i, name: nodeName(node), share: bytes[i]! / all }] : [],
  );
}

/** The memory of the process on each node. */
export function bytesOfNodes({ nodes }: LiveProcess): number[] {
  return nodes.map(({ anonymous, files }) => anonymous + files);
}

export function residentBytes({ anonymous, files }: LiveStructure): number {
  return anonymous + files;
}

/** Positions of the structures whose name, kind, file or source contains the text. */
export function found({ structures }: LiveProcess, search: string): number[] {
  const wanted = search.trim().toLowerCase();
  return structures.flatMap(({ name, kind, file, source }, i) =>
    [name, kind, file, source].some((text) => text.toLowerCase().includes(wanted)) ? [i] : [],
  );
}

export function processTable(processes: readonly LiveProcess[]): CsvTable {
  const numbers = ["anonymous", "files", "huge", "threads", "bound"] as const;
  return {
    columns: ["pid", "process", "node", ...numbers, "cpus"],
    rows: processes.flatMap(({ pid, name, nodes }) =>
      nodes.map((use) => [
        ...[pid, name, use.node < 0 ? null : use.node],
        ...numbers.map((number) => use[number]),
        use.cpus,
      ]),
    ),
  };
}

export function liveStructureTable({ pid, nodes, structures }: LiveProcess): CsvTable {
  const columns = nodes.map(({ node }) => (node < 0 ? "node_unknown" : `node_${node}`));
  const numbers = ["anonymous", "files", "huge", "swapped"] as const;
  return {
    columns: ["pid", "structure", "kind", "file", "source", ...numbers, ...columns, "policy"],
    rows: structures.map((one) => [
      ...[pid, one.name, one.kind, one.file, one.source],
      ...numbers.map((number) => one[number]),
      ...[...one.nodes, one.policy],
    ]),
  };
}

export function liveThreadTable({ pid, threads }: LiveProcess): CsvTable {
  return {
    columns: ["pid", "tid", "name", "cpu", "node", "allowed_cpus"],
    rows: threads.map(({ tid, name, cpu, node, allowed }) => [
      ...[pid, tid, name, cpu, node < 0 ? null : node, allowed],
    ]),
  };
}
