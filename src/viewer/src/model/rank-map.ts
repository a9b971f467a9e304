// SPDX-License-Identifier: Apache-2.0
// Computes what each rank does to each structure of a job: one value for each pair.

import type { Job } from "../data/job";
import type { Column } from "../data/report";
import type { CsvTable } from "./csv";
import * as show from "./format";

/** `relative`: to the mean of the ranks that use the structure. `threads`: imbalance in the rank. */
export type CellMeasure = "accesses" | "relative" | "remote" | "threads";
export type RankOrder = "rank" | "class";

export interface RankMap {
  measure: CellMeasure;
  rows: number;
  /** Positions in the job's ranks, in the order of the columns. */
  columns: Uint32Array;
  /** Row by row; NaN where the rank does not use the structure, or the value is unknown. */
  values: Float64Array;
  largest: number;
}

export function rankMapOf(job: Job, measure: CellMeasure, order: RankOrder): RankMap {
  const ranks = job.ranks.rank.length;
  const rows = job.structures.length;
  const columns = Uint32Array.from({ length: ranks }, (_, i) => i);
  const { group } = job.ranks;
  if (order === "class") columns.sort((a, b) => group[a]! - group[b]! || a - b);
  const values = new Float64Array(rows * ranks);
  let largest = 0;
  for (let row = 0; row < rows; row++) {
    const mean = measure === "relative" ? meanOf(job, row) : 1;
    for (let column = 0; column < ranks; column++) {
      const value = cellOf(job, measure, row, columns[column]!) / mean;
      values[row * ranks + column] = value;
      if (value > largest) largest = value;
    }
  }
  return { measure, rows, columns, values, largest: measure === "remote" ? 1 : largest };
}

/** Structures below this share of all accesses, and of those of each rank, are minor. */
const MINOR = 0.01;
const MINOR_IN_RANK = 0.05;

/** The positions of the structures that are not minor; all if few or none are. */
export function majorStructures({ structures, cells, ranks }: Job): number[] {
  const size = ranks.rank.length;
  const everything = structures.map((_, row) => row);
  const major = everything.filter(
    (row) =>
      structures[row]!.share >= MINOR ||
      ranks.rank.some((_: number, i: number) => {
        const all = ranks.reads[i]! + ranks.writes[i]!;
        return all > 0 && cells.accesses[row * size + i]! / all >= MINOR_IN_RANK;
      }),
  );
  return major.length === 0 || structures.length - major.length < 3 ? everything : major;
}

/** The job with these structures only. */
export function withStructures(job: Job, rows: readonly number[]): Job {
  if (rows.length === job.structures.length) return job;
  const size = job.ranks.rank.length;
  const kept = (column: Column) =>
    Float64Array.from(rows.flatMap((row) => [...column.subarray(row * size, (row + 1) * size)]));
  const { accesses, remote, imbalance } = job.cells;
  return {
    ...job,
    structures: rows.map((row) => job.structures[row]!),
    cells: { accesses: kept(accesses), remote: kept(remote), imbalance: kept(imbalance) },
  };
}

/** The names of the structures; equal names of different kinds are told apart. */
export function namesOf({ structures }: Job): string[] {
  const times = new Map<string, number>();
  structures.forEach(({ label }) => times.set(label, (times.get(label) ?? 0) + 1));
  return structures.map(({ label, kind }) =>
    times.get(label)! > 1 ? `${label.slice(0, 200)} (${kind})` : label.slice(0, 200),
  );
}

/** Mean accesses of the ranks that use the structure. */
function meanOf({ cells, ranks }: Job, row: number): number {
  const size = ranks.rank.length;
  const own = cells.accesses.subarray(row * size, (row + 1) * size) as Float64Array;
  const used = own.filter((accesses) => accesses > 0);
  return used.reduce((sum, accesses) => sum + accesses, 0) / Math.max(1, used.length);
}

function cellOf({ cells, ranks }: Job, measure: CellMeasure, row: number, rank: number): number {
  const at = row * ranks.rank.length + rank;
  const accesses = cells.accesses[at]!;
  if (accesses === 0) return NaN;
  if (measure === "remote") return cells.remote[at]! === 0 ? NaN : (cells.remote[at]! - 1) / 1000;
  return measure === "threads" ? cells.imbalance[at]! / 1000 : accesses;
}

/** The measures that say something about this job. */
export function measuresOf({ cells, ranks }: Job): (readonly [CellMeasure, string])[] {
  const several = ranks.threads.some((threads) => threads > 1);
  return [
    ["accesses", "accesses"],
    ...(ranks.rank.length > 1 ? ([["relative", "relative to the mean"]] as const) : []),
    ...(cells.remote.some((value) => value > 0) ? ([["remote", "remote share"]] as const) : []),
    ...(several ? ([["threads", "imbalance of threads"]] as const) : []),
  ];
}

export function cellText(measure: CellMeasure, value: number): string {
  if (Number.isNaN(value)) return measure === "remote" ? "unknown" : "none";
  if (measure === "accesses") return `${show.short(value)} accesses`;
  if (measure === "remote") return `${show.share(value)} remote`;
  if (measure === "relative") return `${value.toFixed(2)} × the mean of the ranks`;
  return `busiest thread: ${value.toFixed(2)} × the mean of its threads`;
}

/** The column of the largest value of `row` in columns [from, to). */
export function largestIn({ values, columns }: RankMap, row: number, from: number, to: number) {
  let best = from;
  for (let column = from + 1; column < to; column++) {
    const value = values[row * columns.length + column]!;
    const most = values[row * columns.length + best]!;
    if (value > most || (Number.isNaN(most) && !Number.isNaN(value))) best = column;
  }
  return best;
}

/** Columns where another class begins, if the columns are in the order of classes. */
export function classBoundaries({ ranks }: Job, { columns }: RankMap): number[] {
  const found: number[] = [];
  for (let at = 1; at < columns.length; at++) {
    if (ranks.group[columns[at]!] !== ranks.group[columns[at - 1]!]) found.push(at);
  }
  return found;
}

export function rankMapTable(job: Job): CsvTable {
  const { structures, ranks, places, cells } = job;
  const size = ranks.rank.length;
  const rows = structures.flatMap(({ label, kind }, row) =>
    Array.from({ length: size }, (_, i) => i)
      .filter((i) => cells.accesses[row * size + i]! > 0)
      .map((i) => {
        const [remote, imbalance] = [cells.remote, cells.imbalance].map((c) => c[row * size + i]!);
        return [
          ...[ranks.rank[i]!, places[ranks.place[i]!]!.host, ranks.group[i]! + 1, label, kind],
          ...[cells.accesses[row * size + i]!, remote ? (remote - 1) / 1000 : null],
          imbalance! / 1000,
        ];
      }),
  );
  const columns = ["rank", "host", "class", "structure", "kind", "accesses", "remote_share"];
  return { columns: [...columns, "imbalance_of_threads"], rows };
}
