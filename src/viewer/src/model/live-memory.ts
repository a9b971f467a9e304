// SPDX-License-Identifier: Apache-2.0
// Computes what is shown of running processes: their memory by node, and the numbers to save.

import { NO_NODE } from "../data/processes";
import type { LiveMemory, LiveProcess, LiveStructure, Users } from "../data/processes";
import type { CsvTable } from "./csv";

export interface NodeBytes {
  /** Position among the nodes that are known; the one after the last is unknown. */
  node: number;
  name: string;
  share: number;
}

/** The name of all processes together. */
export const TOGETHER = "all together";

/** The number of known nodes, which decides the colours. */
export function knownNodes({ nodes }: LiveMemory): number {
  return nodes.filter(({ node }) => node >= 0).length;
}

export function nodeName(node: number): string {
  return node < 0 ? "unknown" : `node ${node}`;
}

/** The nodes with bytes; `bytes` is in the order of the nodes, unknown ones at the end. */
export function nodeShares({ nodes }: LiveMemory, bytes: readonly number[]): NodeBytes[] {
  const all = bytes.reduce((sum, one) => sum + one, 0);
  return nodes.flatMap(({ node }, i) =>
    bytes[i]! > 0 ? [{ node: i, name: nodeName(node), share: bytes[i]! / all }] : [],
  );
}

/** The memory on each node. */
export function bytesOfNodes({ nodes }: LiveMemory): number[] {
  return nodes.map(({ anonymous, files }) => anonymous + files);
}

export function threadsOf({ nodes }: LiveMemory): number {
  return nodes.reduce((sum, { threads }) => sum + threads, 0);
}

export function sharedBytes({ nodes }: LiveMemory): number {
  return nodes.reduce((sum, { shared }) => sum + shared, 0);
}

export function residentBytes({ anonymous, files }: LiveStructure): number {
  return anonymous + files;
}

/** Positions of the structures whose name, kind, file or source contains the text. */
export function found({ structures }: LiveMemory, search: string): number[] {
  const wanted = search.trim().toLowerCase();
  return structures.flatMap(({ name, kind, file, source }, i) =>
    [name, kind, file, source].some((text) => text.toLowerCase().includes(wanted)) ? [i] : [],
  );
}

/** In which processes a structure is: the number of one, or how many, and whether they share it. */
export function usersText({ pid, count, shared }: Users): string {
  if (pid !== null) return `pid ${pid}`;
  return shared ? `${count} shared` : String(count);
}

/** A strip in words: the ranges of a structure that are on the same node, as `1-8: node 0`. */
export function stripText({ strip }: LiveStructure): string {
  const ranges: string[] = [];
  for (let first = 0, next = 1; first < strip.length; first = next, next++) {
    while (next < strip.length && strip[next] === strip[first]) next++;
    const range = next - first > 1 ? `${first + 1}-${next}` : String(next);
    ranges.push(`${range}: ${positionText(strip[first]!)}`);
  }
  return ranges.join(", ");
}

function positionText(node: number): string {
  if (node === NO_NODE.several) return "several nodes";
  return node === NO_NODE.nothing ? "not in memory" : nodeName(node);
}

/** The nodes of each process; those of all together have no number. */
export function processTable(processes: readonly LiveProcess[], together: LiveMemory): CsvTable {
  return nodeTable([{ pid: null, name: TOGETHER, nodes: together.nodes }, ...processes]);
}

export function nodeTable(
  rows: readonly { pid: number | null; name: string; nodes: LiveMemory["nodes"] }[],
): CsvTable {
  const numbers = ["anonymous", "files", "shared", "huge", "threads", "bound"] as const;
  return {
    columns: ["pid", "process", "node", ...numbers, "cpus"],
    rows: rows.flatMap(({ pid, name, nodes }) =>
      nodes.map((use) => [
        ...[pid, name, use.node < 0 ? null : use.node],
        ...numbers.map((number) => use[number]),
        use.cpus,
      ]),
    ),
  };
}

/** `pid` is that of the process; absent: they are the structures of several together. */
export function liveStructureTable({ nodes, structures }: LiveMemory, pid?: number): CsvTable {
  const columns = nodes.map(({ node }) => (node < 0 ? "node_unknown" : `node_${node}`));
  const numbers = ["anonymous", "files", "huge", "swapped"] as const;
  const of = pid === undefined ? "processes" : "pid";
  return {
    columns: [
      ...[of, "structure", "kind", "file", "source", ...numbers, ...columns],
      ...["policy", "sixteenths"],
    ],
    rows: structures.map((one) => [
      ...[one.users ? usersText(one.users) : pid!, one.name, one.kind, one.file, one.source],
      ...numbers.map((number) => one[number]),
      ...[...one.nodes, one.policy, stripText(one)],
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
