// SPDX-License-Identifier: Apache-2.0
// The structures of the table, with their numbers and order.

import type { Report, Structure } from "../data/report";
import { countsOf } from "./phase-counts";
import { structureSplit } from "./traffic";
import type { Split } from "./traffic";

export type SortKey = "name" | "size" | "reads" | "writes" | "share" | "threads" | "remote";

export interface Order {
  key: SortKey;
  descending: boolean;
}

export interface Wanted {
  search: string;
  order: Order;
  /** Whether to list the minor structures, too, which are folded away at first. */
  minor: boolean;
}

/** A whole structure with its numbers in the chosen phases. */
export interface StructureRow {
  position: number;
  structure: Structure;
  reads: number;
  writes: number;
  threads: number;
  split: Split;
}

export interface StructureRows {
  rows: StructureRow[];
  /** Accesses of the run in the chosen phases, and in all phases. */
  accesses: number;
  runAccesses: number;
}

export function structureRows(report: Report, phases: readonly number[]): StructureRows {
  const counts = countsOf(report, phases);
  const rows = report.structures.flatMap((structure, position): StructureRow[] => {
    if (structure.instance >= 0) return [];
    const reads = counts.reads[position]!;
    const writes = counts.writes[position]!;
    const threads = counts.threads[position]!;
    const split = structureSplit(report, position, phases, reads + writes);
    return [{ position, structure, reads, writes, threads, split }];
  });
  const runAccesses = report.run.reads + report.run.writes;
  return { rows, accesses: counts.accesses, runAccesses };
}

/** Structures with less than this share of the accesses are folded away at first. */
const MINOR = 0.0001;
/** The same limit for stacks, and for memory of the runtimes of the language and the threads. */
const MINOR_RUNTIME = 0.01;

/** Counts of the whole run decide, so that rows do not come and go with the phases. */
function isMinor({ structure }: StructureRow, runAccesses: number): boolean {
  const limit = structure.owner === "program" ? MINOR : MINOR_RUNTIME;
  return structure.reads + structure.writes < limit * runAccesses;
}

export interface Folded {
  stacks: number;
  others: number;
  /** Their share of the accesses. */
  share: number;
}

export function folded({ rows, accesses, runAccesses }: StructureRows): Folded {
  const minor = rows.filter((row) => isMinor(row, runAccesses));
  const stacks = minor.filter(({ structure }) => structure.owner === "stack").length;
  const sum = minor.reduce((total, { reads, writes }) => total + reads + writes, 0);
  return { stacks, others: minor.length - stacks, share: sum / Math.max(1, accesses) };
}

/** The rows to show. Searching looks at what is folded away too. */
export function listed({ rows, runAccesses }: StructureRows, wanted: Wanted): StructureRow[] {
  const words = wanted.search.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter((row) =>
    words.length
      ? words.every((word) => searchable(row.structure).includes(word))
      : wanted.minor || !isMinor(row, runAccesses),
  );
  const sign = wanted.order.descending ? -1 : 1;
  return shown.sort((a, b) => {
    const difference = compare(a, b, wanted.order.key);
    return difference === 0 ? a.position - b.position : sign * difference;
  });
}

function searchable({ name, kind, function: f, file, module }: Structure): string {
  return [name, kind, f, file, module].join("\n").toLowerCase();
}

function compare(a: StructureRow, b: StructureRow, key: SortKey): number {
  if (key === "name") {
    return a.structure.name.localeCompare(b.structure.name, "en", { numeric: true });
  }
  if (key === "share") return a.reads + a.writes - (b.reads + b.writes);
  // Sorted by number and not by share: a large number of remote accesses is worth a fix.
  if (key === "remote") return a.split.remote - b.split.remote;
  return key === "size" ? a.structure.size - b.structure.size : a[key] - b[key];
}
