// SPDX-License-Identifier: Apache-2.0
// The overview's numbers as exact, unformatted tables for saving.

import type { Machine, Report } from "../data/report";
import type { CsvTable } from "./csv";
import { wordsOf } from "./counting";
import { pairOf } from "./node-distance";
import { countsOf } from "./phase-counts";
import { strongestPairs } from "./sharing";
import type { SharingMatrix } from "./sharing";
import type { FunctionUse, Uses } from "./source-lines";
import type { StructureRow } from "./structure-list";
import { threadSplit } from "./traffic";
import type { NodeTraffic } from "./traffic";

/** `counted` names the column of what is counted. */
export function trafficTable(
  { nodes, size, accesses }: NodeTraffic,
  machine: Machine,
  counted: string,
): CsvTable {
  const name = (index: number) => (index < nodes.length ? nodes[index]! : "several or unknown");
  const cells = Array.from(accesses, (number, i) => [
    name(Math.floor(i / size)),
    name(i % size),
    number,
    pairOf(machine, nodes[Math.floor(i / size)], nodes[i % size]).factor ?? "",
  ]);
  return { columns: ["thread_node", "page_node", counted, "numa_factor"], rows: cells };
}

export function threadTrafficTable(report: Report, phases: readonly number[]): CsvTable {
  const { threadAccesses } = countsOf(report, phases);
  return {
    columns: ["thread", "name", "nodes", "local", "remote", "unknown"],
    rows: report.threads.map(({ thread, name, nodes }, row) => {
      const split = threadSplit(report, row, phases, threadAccesses[row]!);
      return [thread, name, nodes.join(" "), split.local, split.remote, split.unknown];
    }),
  };
}

export function sharingTable(
  matrix: SharingMatrix,
  name: (row: number) => string,
  counted: string,
): CsvTable {
  return {
    columns: ["threads", "and_threads", `${counted}_on_shared_pages`],
    rows: strongestPairs(matrix).map(({ a, b, shared }) => [name(a), name(b), shared]),
  };
}

export function structuresTable({ run }: Report, rows: readonly StructureRow[]): CsvTable {
  const named = wordsOf(run).columns;
  return {
    columns: [
      ...["structure", "name", "kind", "file", "line", "size", "pages", "instances"],
      ...[named.reads, named.writes, "threads", "local", "remote", "unknown", "pattern"],
    ],
    rows: rows.map(({ structure: s, reads, writes, threads, split }) => [
      ...[s.structure, s.name, s.kind, s.file, s.line, s.size, s.pages, s.instances],
      ...[reads, writes, threads, split.local, split.remote, split.unknown, s.reading.verdict],
    ]),
  };
}

const USES = ["reads", "writes", "estimated"] as const;

function cells(use: Uses): number[] {
  return USES.map((column) => use[column]);
}

export function linesTable(functions: readonly FunctionUse[]): CsvTable {
  return {
    columns: ["function", "file", "loop_first", "loop_last", "line", ...USES],
    rows: functions.flatMap(({ name, file, loops, lines }) => [
      ...loops.flatMap(({ loop, lines: inside }) =>
        inside.map((use) => [name, file, loop.first, loop.last, use.line, ...cells(use)]),
      ),
      ...lines.map((use) => [name, file, null, null, use.line, ...cells(use)]),
    ]),
  };
}
