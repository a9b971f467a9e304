// SPDX-License-Identifier: Apache-2.0
// Mappings of tasks to cores: their metrics as columns, the order of rows, the best of a column.

import type { Balance, Result, SimulatedTimeline } from "../data/balance";
import type { CsvTable } from "./csv";
import * as show from "./format";

export const RESULT_KEYS = [
  ...(["imbalance", "communication", "off_node", "migrations", "relabelled"] as const),
  ...(["migrated_bytes", "milliseconds", "core_memory", "cores_over"] as const),
] as const;
export type ResultKey = (typeof RESULT_KEYS)[number];

export interface ResultOrder {
  key: ResultKey;
  descending: boolean;
}

interface Column {
  key: ResultKey;
  title: string;
  text: (value: number) => string;
}

const COLUMNS: readonly Column[] = [
  { key: "imbalance", title: "Imbalance", text: (value) => value.toFixed(3) },
  { key: "communication", title: "Communication", text: show.short },
  { key: "off_node", title: "Between nodes", text: show.bytes },
  { key: "migrations", title: "Migrations", text: show.count },
  { key: "relabelled", title: "Relabelled", text: show.count },
  { key: "migrated_bytes", title: "Migrated", text: show.bytes },
  { key: "milliseconds", title: "Took", text: (value) => show.seconds(value / 1000) },
  { key: "core_memory", title: "Largest process", text: show.bytes },
  { key: "cores_over", title: "Beyond the limit", text: show.count },
];

/** The columns that say something about these mappings. */
export function columnsOf({ results, has_memory: hasMemory }: Balance): readonly Column[] {
  return COLUMNS.filter(({ key }) => {
    if (key === "core_memory" || key === "cores_over") return hasMemory;
    if (key !== "off_node" && key !== "migrated_bytes") return true;
    return results.some((result) => result[key] > 0);
  });
}

/** Positions of the mappings; the present one stays first. */
export function rowsInOrder(results: readonly Result[], order: ResultOrder | null): number[] {
  const positions = results.map((_, i) => i);
  if (!order) return positions;
  const sign = order.descending ? -1 : 1;
  const others = positions.slice(1);
  others.sort((a, b) => sign * (results[a]![order.key] - results[b]![order.key]) || a - b);
  return [...positions.slice(0, 1), ...others];
}

/** The smallest value of the mappings besides the present one, if there are several. */
export function bestOf(results: readonly Result[], key: ResultKey): number | undefined {
  const values = results.slice(1).map((result) => result[key]);
  return new Set(values).size > 1 ? Math.min(...values) : undefined;
}

/** A sentence about what the mapping changes. */
export function changeText({ results, tasks, are_threads: areThreads }: Balance, at: number) {
  const [now, then] = [results[0]!, results[at]!];
  const parts = [`imbalance ${now.imbalance.toFixed(2)} → ${then.imbalance.toFixed(2)}`];
  if (now.communication > 0) {
    const change = then.communication / now.communication - 1;
    parts.push(`communication ${change === 0 ? "unchanged" : show.signedPercent(change)}`);
  }
  const what = areThreads ? "threads" : "tasks";
  parts.push(`${show.count(then.migrations)} of ${show.count(tasks)} ${what} migrate`);
  return `${then.label}: ${parts.join(", ")}.`;
}

export function resultsCsv(balance: Balance): CsvTable {
  const keys = columnsOf(balance).map(({ key }) => key);
  return {
    columns: ["mapping", ...keys, ...balance.levels.map((name) => `messages ${name}`)],
    rows: balance.results.map((one) => [one.label, ...keys.map((key) => one[key]), ...one.levels]),
  };
}

export function loadsCsv({ results, cores_per_bar: size, bar_nodes }: Balance, at: number) {
  const [before, after] = [results[0]!.loads, results[at]!.loads];
  return {
    columns: ["first_core", "cores", "node", "before", "after"],
    rows: before.map((load, i) => [i * size, size, bar_nodes[i]!, load, after[i]!]),
  };
}

export function iterationsCsv({ before }: Balance, { timeline }: Result): CsvTable {
  return {
    columns: ["iteration", "after_balancing", "seconds", "end"],
    rows: (timeline?.times ?? []).map((seconds, i) => [
      ...[i, i < before ? 0 : 1, seconds, timeline!.ends[i]!],
    ]),
  };
}

/** Neighbouring columns of one node. */
export interface NodeSpan {
  node: number;
  begin: number;
  end: number;
}

export function nodeSpans(nodes: readonly number[]): NodeSpan[] {
  const spans: NodeSpan[] = [];
  nodes.forEach((node, i) => {
    const last = spans.at(-1);
    if (last?.node === node) last.end = i + 1;
    else spans.push({ node, begin: i, end: i + 1 });
  });
  return spans;
}

/** A core, or several neighbours, with the node of the first one. */
export function coresOf({ cores, cores_per_bar, bar_nodes }: Balance, first: number, size: number) {
  const last = Math.min(cores, first + size) - 1;
  const node = bar_nodes[Math.floor(first / cores_per_bar)]!;
  const name = first === last ? `Core ${first}` : `Cores ${first}–${last}`;
  return `${name}, node ${node}`;
}

/** A text about what a row of cores does in a part of the simulated time. */
export function activityText(
  balance: Balance,
  timeline: SimulatedTimeline,
  row: number,
  part: number,
) {
  const { activity, parts, cores_per_row: size } = balance;
  const time = show.seconds(((part + 0.5) / parts) * timeline.end);
  const kinds = (["work", "communication", "migration"] as const).flatMap((kind) => {
    const share = activity[kind][timeline.at + row * parts + part]! / 255;
    return share > 0 ? [`${kind} ${show.percent(share)}`] : [];
  });
  return `${coresOf(balance, row * size, size)}, ${time}: ${kinds.join(", ") || "idle"}`;
}
