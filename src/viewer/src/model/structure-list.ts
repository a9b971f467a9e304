// SPDX-License-Identifier: Apache-2.0
// Which structures the table shows, and in which order.

import type { Structure } from "../data/report";

export type SortKey = "name" | "size" | "reads" | "writes" | "share" | "threads";

export interface Order {
  key: SortKey;
  descending: boolean;
}

/** Structures with less than this share of the accesses are hidden at first. */
export const MINOR = 0.0001;

export interface Wanted {
  search: string;
  order: Order;
  minor: boolean;
}

/** Positions of the structures to show. Searching looks at minor structures too. */
export function listed(structures: Structure[], accesses: number, wanted: Wanted): number[] {
  const words = wanted.search.toLowerCase().split(/\s+/).filter(Boolean);
  const positions = structures.flatMap((structure, position) => {
    const shown = words.length
      ? words.every((word) => searchable(structure).includes(word))
      : wanted.minor || !isMinor(structure, accesses);
    return shown ? [position] : [];
  });
  const sign = wanted.order.descending ? -1 : 1;
  return positions.sort((a, b) => {
    const difference = compare(structures[a]!, structures[b]!, wanted.order.key);
    return difference === 0 ? a - b : sign * difference;
  });
}

export function isMinor(structure: Structure, accesses: number): boolean {
  return structure.reads + structure.writes < MINOR * accesses;
}

function searchable({ name, kind, function: f, file, module }: Structure): string {
  return [name, kind, f, file, module].join("\n").toLowerCase();
}

function compare(a: Structure, b: Structure, key: SortKey): number {
  if (key === "name") return a.name.localeCompare(b.name, "en", { numeric: true });
  if (key === "share") return a.reads + a.writes - (b.reads + b.writes);
  return a[key] - b[key];
}
