// SPDX-License-Identifier: Apache-2.0
// The structures of two runs, with what changed: their order, and which are shown.

import type { ComparedSide, ComparedStructure } from "../data/comparison";

export const CHANGE_KEYS = ["name", "share", "foreign", "remote", "accesses"] as const;
export type ChangeKey = (typeof CHANGE_KEYS)[number];

/** The order by name, by the larger share of both runs, or by how much a number changed. */
export interface ChangeOrder {
  key: ChangeKey;
  descending: boolean;
}

export interface ChangeRow {
  /** The index in the comparison. */
  row: number;
  structure: ComparedStructure;
}

/** Structures with less than this share of the accesses of both runs are folded away at first. */
const MINOR = 0.0001;

export function changeRows(
  structures: readonly ComparedStructure[],
  wanted: { search: string; minor: boolean; order: ChangeOrder },
): ChangeRow[] {
  const words = wanted.search.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = structures.map((structure, row) => ({ row, structure }));
  const shown = rows.filter(({ structure }) =>
    words.length
      ? words.every((word) => searchable(structure).includes(word))
      : wanted.minor || !isMinor(structure, structures),
  );
  const { key, descending } = wanted.order;
  const sign = descending ? -1 : 1;
  return shown.sort((p, q) => {
    const difference = compare(p.structure, q.structure, key);
    return difference === 0 ? p.row - q.row : sign * difference;
  });
}

export function minorCount(structures: readonly ComparedStructure[]): number {
  return structures.filter((structure) => isMinor(structure, structures)).length;
}

/** In recordings of first touches no structure is minor, because there are no accesses. */
function isMinor(structure: ComparedStructure, all: readonly ComparedStructure[]): boolean {
  const most = all.reduce((largest, one) => Math.max(largest, largerShare(one)), 0);
  return most > 0 && largerShare(structure) < MINOR;
}

function largerShare({ sides: [a, b] }: ComparedStructure): number {
  return Math.max(a?.share ?? 0, b?.share ?? 0);
}

function searchable({ name, kind, function: f, file }: ComparedStructure): string {
  return [name, kind, f, file].join("\n").toLowerCase();
}

function compare(p: ComparedStructure, q: ComparedStructure, key: ChangeKey): number {
  if (key === "name") return p.name.localeCompare(q.name, "en", { numeric: true });
  if (key === "share") return largerShare(p) - largerShare(q);
  return Math.abs(changeOf(p, key) ?? 0) - Math.abs(changeOf(q, key) ?? 0);
}

/** The value of B minus that of A; undefined if one of them is unknown. */
export function changeOf(
  { sides: [a, b] }: ComparedStructure,
  key: Exclude<ChangeKey, "name">,
): number | undefined {
  const [before, after] = [a?.[key], b?.[key]];
  return before == null || after == null ? undefined : after - before;
}

/** The run that alone has the structure; undefined if both have it. */
export function onlyIn(structure: ComparedStructure): "A" | "B" | undefined {
  const [a, b] = structure.sides;
  if (a && b) return undefined;
  return a ? "A" : "B";
}

export function sideRows(structure: ComparedStructure): [string, ComparedSide | null][] {
  return [
    ["A", structure.sides[0]],
    ["B", structure.sides[1]],
  ];
}
