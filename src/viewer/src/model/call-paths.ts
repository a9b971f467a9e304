// SPDX-License-Identifier: Apache-2.0
// Accesses and first touches by the call paths of allocations, as the frames of a flame graph.
//
// A path is the call stack of an allocation, outermost function first, then the structure, and for
// first touches the source place that touched its pages. Frames of one parent are in order of their
// values, the largest one first.

import type { Report, Structure } from "../data/report";
import type { CsvTable } from "../saving/csv";
import { seesAccesses } from "./counting";
import { structureRows } from "./structure-list";

export type PathMeasure = "accesses" | "remote" | "touches";
export type FrameKind = "run" | "call" | "group" | "structure" | "place";

export interface Frame {
  /** Without folders. */
  name: string;
  /** As it was recorded. */
  title: string;
  kind: FrameKind;
  value: number;
  /** Sum of the values before it, from the left edge of the run. */
  begin: number;
  depth: number;
  /** Index of the calling frame; -1 for the run. */
  parent: number;
  /** Of the structure that it is, or to which the place belongs; else -1. */
  position: number;
  /** Of a place or a call whose line is known. */
  file: string;
  line: number;
}

interface Branch {
  frame: Omit<Frame, "begin" | "depth" | "parent">;
  below: Map<string, Branch>;
}

/** Kinds of structures that no call allocated. */
const GROUPS: Record<string, string> = {
  global: "global variables",
  stack: "thread stacks",
  mapping: "mapped files",
  unowned: "no known owner",
};

/** The measures that the run has. */
export function pathMeasures({ run, traffic }: Report): PathMeasure[] {
  if (!seesAccesses(run)) return ["touches"];
  return traffic.nodes.length > 1 ? ["accesses", "remote", "touches"] : ["accesses", "touches"];
}

/** The frames, each after its parent; `only` is the position of a structure, or -1 for all. */
export function callPaths(
  report: Report,
  phases: readonly number[],
  measure: PathMeasure,
  only = -1,
): Frame[] {
  const root = branch(report.run.program.replace(/.*\//, "") || "the run", "run");
  for (const { position, structure, reads, writes, split } of structureRows(report, phases).rows) {
    if (only >= 0 && position !== only) continue;
    const places = measure === "touches" ? touchesOf(report, position, phases) : new Map();
    const touched = [...places.values()].reduce((sum, pages) => sum + pages, 0);
    const value = { accesses: reads + writes, remote: split.remote, touches: touched }[measure];
    if (value <= 0) continue;
    const leaf = pathTo(root, structure, position, value);
    for (const [place, pages] of places) addPlace(leaf, report, place, pages);
  }
  return flattened(root);
}

function branch(name: string, kind: FrameKind, more: Partial<Frame> = {}): Branch {
  const frame = { name, title: name, kind, value: 0, position: -1, file: "", line: 0, ...more };
  return { frame, below: new Map() };
}

/** File and line in the text of a call, such as `main (folder/program.c:12)`. */
function callBranch(call: string): Branch {
  const [, text, folder, file, line] =
    /^(.*) \(([^()]*\/)?([^()/]+?)(?::(\d{1,9}))?\)$/.exec(call) ?? [];
  if (!text || !file) return branch(call, "call");
  const where = line ? { file: `${folder ?? ""}${file}`, line: Number(line) } : {};
  return branch(`${text} (${file}${line ? `:${line}` : ""})`, "call", { title: call, ...where });
}

function child(of: Branch, key: string, make: () => Branch, value: number): Branch {
  let found = of.below.get(key);
  if (!found) of.below.set(key, (found = make()));
  found.frame.value += value;
  return found;
}

/** Adds the value to each frame of the structure's path; the last one is the structure. */
function pathTo(root: Branch, structure: Structure, position: number, value: number): Branch {
  const { name, kind, call_stack: stack } = structure;
  root.frame.value += value;
  let at = root;
  for (const call of [...stack].reverse()) {
    at = child(at, `call ${call}`, () => callBranch(call), value);
  }
  if (stack.length === 0) {
    const group = GROUPS[kind] ?? `${kind}, without a call path`;
    at = child(at, `group ${group}`, () => branch(group, "group"), value);
  }
  const { file, line } = structure;
  const make = () => branch(name, "structure", { position, file, line });
  return child(at, `structure ${position}`, make, value);
}

function addPlace(leaf: Branch, { places }: Report, place: number, pages: number): void {
  const [name, file] = [places.function[place] ?? "", places.file[place] ?? ""];
  const line = places.line[place] ?? 0;
  const where = file ? ` (${file.replace(/.*\//, "")}${line ? `:${line}` : ""})` : "";
  const text = `${name || "unknown function"}${where}`;
  const { position } = leaf.frame;
  child(leaf, `place ${place}`, () => branch(text, "place", { position, file, line }), pages);
}

/** Pages by the index of the place that touched them first. */
function touchesOf(
  { first_touches: touches, phases: all }: Report,
  s: number,
  phases: readonly number[],
) {
  const pages = new Map<number, number>();
  for (const phase of phases) {
    const at = s * all.length + phase;
    for (let i = touches.begin[at]!; i < touches.begin[at + 1]!; i++) {
      const place = touches.place[i]!;
      pages.set(place, (pages.get(place) ?? 0) + touches.pages[i]!);
    }
  }
  return pages;
}

function flattened(root: Branch): Frame[] {
  const frames: Frame[] = [];
  const add = (one: Branch, parent: number, depth: number, begin: number) => {
    const index = frames.push({ ...one.frame, parent, depth, begin }) - 1;
    const below = [...one.below.values()].sort((a, b) => b.frame.value - a.frame.value);
    let at = begin;
    for (const next of below) {
      add(next, index, depth + 1, at);
      at += next.frame.value;
    }
  };
  add(root, -1, 0, 0);
  return frames;
}

export interface Shown {
  index: number;
  /** Fractions of the width. */
  left: number;
  width: number;
}

/** Frames that are narrower than this share of the width, or too many, are not shown. */
const NARROWEST = 0.002;
const MOST = 1200;

/** What is shown if a frame takes the whole width: its callers, itself, and what is below it. */
export function shownFrames(frames: readonly Frame[], zoomed: number): Shown[] {
  const { begin, value } = frames[zoomed]!;
  const callers = new Set<number>();
  for (let at = zoomed; at >= 0; at = frames[at]!.parent) callers.add(at);
  const shown = frames.flatMap((frame, index): Shown[] => {
    if (callers.has(index)) return [{ index, left: 0, width: 1 }];
    const inside = frame.begin >= begin && frame.begin + frame.value <= begin + value;
    if (!inside || frame.value < NARROWEST * value) return [];
    return [{ index, left: (frame.begin - begin) / value, width: frame.value / value }];
  });
  if (shown.length <= MOST) return shown;
  const widest = [...shown].sort((a, b) => b.width - a.width).slice(0, MOST);
  return widest.sort((a, b) => a.index - b.index);
}

/** The share of the run in frames that contain the text, or are below one that does. */
export function matchingShare(frames: readonly Frame[], matches: ReadonlySet<number>): number {
  let sum = 0;
  for (const index of matches) {
    const { parent, value } = frames[index]!;
    let above = parent;
    while (above >= 0 && !matches.has(above)) above = frames[above]!.parent;
    if (above < 0) sum += value;
  }
  return sum / Math.max(1, frames[0]!.value);
}

export function matchingFrames(frames: readonly Frame[], search: string): Set<number> {
  const wanted = search.trim().toLowerCase();
  const found = wanted
    ? frames.flatMap(({ name }, i) => (name.toLowerCase().includes(wanted) ? [i] : []))
    : [];
  return new Set(found);
}

export type Step = "caller" | "called" | "before" | "after";

/** The frame beside `index` among those shown. */
export function neighbour(
  frames: readonly Frame[],
  shown: readonly Shown[],
  index: number,
  step: Step,
): number {
  if (step === "caller") return Math.max(0, frames[index]!.parent);
  if (step === "called")
    return shown.find((one) => frames[one.index]!.parent === index)?.index ?? index;
  const { depth } = frames[index]!;
  const row = shown.filter((one) => frames[one.index]!.depth === depth);
  const at = row.findIndex((one) => one.index === index) + (step === "after" ? 1 : -1);
  return row[at]?.index ?? index;
}

/** A row for each frame, with its path from the run on. */
export function pathsCsv(frames: readonly Frame[], counted: string): CsvTable {
  const paths: string[] = [];
  return {
    columns: ["path", "kind", counted],
    rows: frames.map(({ name, kind, value, parent }, i) => {
      paths[i] = parent < 0 ? name : `${paths[parent]};${name.replaceAll(";", ":")}`;
      return [paths[i]!, kind, value];
    }),
  };
}
