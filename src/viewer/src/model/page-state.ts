// SPDX-License-Identifier: Apache-2.0
// The reader's selections, as plain data, and their form in the address: #v=1&structure=2&...
//
// The address contains only what differs from the initial state. It is not trusted: parts that are
// not understood, or that this report does not have, are ignored, and nothing is shown as markup.

import { CHANGE_KEYS } from "./changes";
import type { ChangeOrder } from "./changes";
import { RESULT_KEYS } from "./mappings";
import type { ResultOrder } from "./mappings";
import type { SortKey, Wanted } from "./structure-list";
import type { Measure } from "./matrix";
import type { CellMeasure, RankOrder } from "./rank-map";
import type { Viewport } from "./viewport";

/** Rows of the thread axis: by number, by node, or neighbours that share pages. */
export type ThreadOrder = "number" | "node" | "sharing";
/** Pages of 4 KiB, of 2 MiB, or as large as the recorded machine's. */
export type PageUnit = "4k" | "2m" | "machine";
/** Grey: for print, on white; distinguished by lightness and hatching only. */
export type Theme = "light" | "dark" | "grey";
export type Scale = "linear" | "log";
export type ColourBy = "thread" | "node";
/** The choice of what is counted, if the run has both. */
export type Count = "lines" | "accesses";

export type Side = "" | "a" | "b";

export interface PageState {
  /** Number in the trace. */
  structure: number;
  /** One instance of it, or -1: all summed. */
  instance: number;
  /** The view in counted pages and in rows of the present order; null: the whole structure. */
  view: Viewport | null;
  /** Number of the machine shown; 0 is the one that the report was written for. */
  machine: number;
  count: Count;
  measure: Measure;
  scale: Scale;
  /** Positions in the report's phases, ascending; null: all. */
  phases: readonly number[] | null;
  order: ThreadOrder;
  pageUnit: PageUnit;
  /** Rows (positions in the report's threads) that are compared, ascending; empty: none. */
  groupA: readonly number[];
  groupB: readonly number[];
  colourBy: ColourBy;
  /** null: as the system says. */
  theme: Theme | null;
  table: Wanted;
  /** The heat map of a job: what is shown, and the order of ranks. */
  cells: CellMeasure;
  columns: RankOrder;
  /** The rank of a job whose page in the same file this is; -1: none. */
  rank: number;
  /** The run of a comparison whose report in the same file this is; empty: none. */
  side: Side;
  /** The order of the structures of a comparison. */
  changes: ChangeOrder;
  /** The order of mappings of tasks; null: as given. */
  results: ResultOrder | null;
}

/** The content of a report, so that an address cannot name more than it has. */
export interface Extents {
  /** Structures in the report's order; `instance` is -1 for whole ones. */
  structures: readonly { structure: number; instance?: number }[];
  threads: number;
  phases: number;
  /** The number of machines that can be chosen; 1 if absent. */
  machines?: number;
  /** Whether there is a choice of what is counted. */
  lines?: boolean;
  /** Position of the structure shown first. */
  first?: number;
  /** The rank of a job that is shown, if the file has several. */
  rank?: number | undefined;
  /** The run of a comparison that is shown, if the file has both. */
  side?: Side | undefined;
}

export const START: PageState = {
  structure: 0,
  instance: -1,
  view: null,
  machine: 0,
  count: "lines",
  measure: "both",
  scale: "linear",
  phases: null,
  order: "number",
  pageUnit: "4k",
  groupA: [],
  groupB: [],
  colourBy: "thread",
  theme: null,
  table: { search: "", order: { key: "share", descending: true }, minor: false },
  cells: "accesses",
  columns: "rank",
  rank: -1,
  side: "",
  changes: { key: "share", descending: true },
  results: null,
};

const THEMES: readonly Theme[] = ["light", "dark", "grey"];
const VERSION = "1";
const LONGEST_ADDRESS = 20_000;
const LONGEST_SEARCH = 200;
const SORT_KEYS: readonly SortKey[] = [
  "name",
  "size",
  "reads",
  "writes",
  "share",
  "threads",
  "remote",
];

export function startOf({ structures, first = 0, rank = -1, side = "" }: Extents): PageState {
  return { ...START, structure: structures[first]?.structure ?? 0, rank, side };
}

/** The state after `change`; another structure, instance or order resets the view to the whole. */
export function changed(state: PageState, change: Partial<PageState>): PageState {
  const next = { ...state, ...change };
  if (next.structure !== state.structure && !("instance" in change)) next.instance = -1;
  const moved =
    next.structure !== state.structure ||
    next.instance !== state.instance ||
    next.order !== state.order;
  if (moved && !("view" in change)) next.view = null;
  // Rounded as in the address, so that a link restores exactly the same picture.
  if (next.view && next.view !== state.view) next.view = roundedView(next.view);
  return next;
}

/** Position in the report of what the state shows. */
export function positionOf(
  state: Pick<PageState, "structure" | "instance">,
  structures: Extents["structures"],
): number {
  const found = structures.findIndex(
    ({ structure, instance = -1 }) => structure === state.structure && instance === state.instance,
  );
  if (found >= 0) return found;
  return Math.max(
    0,
    structures.findIndex(({ structure }) => structure === state.structure),
  );
}

/** The address of the state, without the leading #. */
export function writeAddress(state: PageState): string {
  const { structure, instance, view, table } = state;
  const parts: [string, string, unknown][] = [
    ["rank", String(state.rank), String(START.rank)],
    ["run", state.side, START.side],
    ["structure", String(structure), undefined],
    ["instance", String(instance), String(START.instance)],
    ["view", view ? [view.x0, view.x1, view.y0, view.y1].join(",") : "", ""],
    ["machine", String(state.machine), String(START.machine)],
    ["count", state.count, START.count],
    ["measure", state.measure, START.measure],
    ["scale", state.scale, START.scale],
    ["phases", state.phases ? writeRanges(state.phases) : "all", "all"],
    ["order", state.order, START.order],
    ["pages", state.pageUnit, START.pageUnit],
    ["a", writeRanges(state.groupA), ""],
    ["b", writeRanges(state.groupB), ""],
    ["colour", state.colourBy, START.colourBy],
    ["theme", state.theme ?? "", ""],
    ["search", table.search.slice(0, LONGEST_SEARCH), ""],
    ["sort", written(table.order), START.table.order.key],
    ["by", written(state.changes), START.changes.key],
    ["results", state.results ? written(state.results) : "", ""],
    ["minor", table.minor ? "1" : "", ""],
    ["cells", state.cells, START.cells],
    ["columns", state.columns, START.columns],
  ];
  const unusual = parts.filter(([, value, usual]) => value !== usual);
  const pairs = unusual.map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  // Commas are harmless in a fragment, and easier to read.
  return [`v=${VERSION}`, ...pairs].join("&").replaceAll("%2C", ",");
}

function written({ key, descending }: { key: string; descending: boolean }): string {
  return `${key}${descending ? "" : "-up"}`;
}

/** The state in `address` (with or without #), or undefined if it contains no state. */
export function readAddress(address: string, extents: Extents): PageState | undefined {
  const text = address.startsWith("#") ? address.slice(1) : address;
  if (!text.includes("=") || text.length > LONGEST_ADDRESS) return undefined;
  const given = new URLSearchParams(text);
  if ((given.get("v") ?? VERSION) !== VERSION) return undefined;
  const start = startOf(extents);
  const asked = {
    structure: whole(given.get("structure")),
    instance: whole(given.get("instance")),
  };
  const has = (structure: number, instance: number) =>
    extents.structures.some((s) => s.structure === structure && (s.instance ?? -1) === instance);
  const structure =
    asked.structure !== undefined && has(asked.structure, -1) ? asked.structure : start.structure;
  const instance =
    asked.instance !== undefined && has(structure, asked.instance) ? asked.instance : -1;
  const phases = readRanges(given.get("phases"), extents.phases);
  // A page of several runs has no threads of its own to put in order.
  const figures = extents.threads > 0;
  const machine = whole(given.get("machine")) ?? 0;
  return {
    structure,
    instance,
    view: readView(given.get("view")),
    machine: machine < (extents.machines ?? 1) ? machine : start.machine,
    count: (extents.lines && oneOf(given.get("count"), ["lines", "accesses"])) || start.count,
    measure: oneOf(given.get("measure"), ["both", "reads", "writes"]) ?? start.measure,
    scale: oneOf(given.get("scale"), ["linear", "log"]) ?? start.scale,
    phases: phases.length > 0 && phases.length < extents.phases ? phases : null,
    order: (figures && oneOf(given.get("order"), ["number", "node", "sharing"])) || start.order,
    pageUnit: (figures && oneOf(given.get("pages"), ["4k", "2m", "machine"])) || start.pageUnit,
    groupA: readRanges(given.get("a"), extents.threads),
    groupB: readRanges(given.get("b"), extents.threads),
    colourBy: oneOf(given.get("colour"), ["thread", "node"]) ?? start.colourBy,
    theme: oneOf(given.get("theme"), THEMES) ?? null,
    table: readTable(given),
    cells: oneOf(given.get("cells"), ["accesses", "relative", "remote", "threads"]) ?? start.cells,
    columns: oneOf(given.get("columns"), ["rank", "class"]) ?? start.columns,
    rank: start.rank,
    side: start.side,
    changes: readOrder(given.get("by"), CHANGE_KEYS) ?? start.changes,
    results: readOrder(given.get("results"), RESULT_KEYS) ?? start.results,
  };
}

/** The run of a comparison that an address (with or without #) names. */
export function sideInAddress(address: string): Side {
  if (address.length > LONGEST_ADDRESS) return "";
  return oneOf(new URLSearchParams(address.replace(/^#/, "")).get("run"), ["a", "b"]) ?? "";
}

/** The rank of a job that an address (with or without #) names. */
export function rankInAddress(address: string): number | undefined {
  if (address.length > LONGEST_ADDRESS) return undefined;
  return whole(new URLSearchParams(address.replace(/^#/, "")).get("rank"));
}

function readTable(given: URLSearchParams): Wanted {
  return {
    search: (given.get("search") ?? "").slice(0, LONGEST_SEARCH),
    order: readOrder(given.get("sort"), SORT_KEYS) ?? START.table.order,
    minor: given.get("minor") === "1",
  };
}

function readOrder<K extends string>(text: string | null, keys: readonly K[]) {
  const key = oneOf((text ?? "").replace(/-up$/, ""), keys);
  return key && { key, descending: !text!.endsWith("-up") };
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[]): T | undefined {
  return allowed.find((value) => value === text);
}

/** A number without sign, exactly as a double holds it. */
function whole(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function roundedView({ x0, x1, y0, y1 }: Viewport): Viewport {
  const rounded = (value: number) => Math.round(value * 1000) / 1000;
  return { x0: rounded(x0), x1: rounded(x1), y0: rounded(y0), y1: rounded(y1) };
}

function readView(text: string | null): Viewport | null {
  if (text === null || !/^\d{1,15}(\.\d{1,3})?(,\d{1,15}(\.\d{1,3})?){3}$/.test(text)) return null;
  const [x0, x1, y0, y1] = text.split(",").map(Number) as [number, number, number, number];
  return x0 < x1 && y0 < y1 ? { x0, x1, y0, y1 } : null;
}

/** 0, 1, 2, 5 -> "0-2,5"; the numbers ascend. */
export function writeRanges(numbers: readonly number[]): string {
  const parts: [number, number][] = [];
  for (const number of numbers) {
    const last = parts[parts.length - 1];
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(",");
}

/** Numbers below `end`, ascending, each once; what is not a range is passed over. */
export function readRanges(text: string | null, end: number): number[] {
  const found = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const range = /^\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?$/.exec(part);
    if (!range) continue;
    const last = Math.min(end - 1, Number(range[2] ?? range[1]));
    for (let number = Number(range[1]); number <= last; number++) found.add(number);
  }
  return [...found].sort((a, b) => a - b);
}
