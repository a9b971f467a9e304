// SPDX-License-Identifier: Apache-2.0
// The frames of a flame graph: paths from the run on, each frame with the sum of what is below it.
//
// Frames of one parent are in order of their values, the largest one first.

import type { CsvTable } from "./csv";

export type FrameKind = "run" | "call" | "loop" | "group" | "structure" | "place";

export interface Frame {
  /** The name without folders. */
  name: string;
  /** The name as it was recorded. */
  title: string;
  kind: FrameKind;
  value: number;
  /** Sum of the values before it, from the left edge of the run. */
  begin: number;
  depth: number;
  /** Index of the calling frame; -1 for the run. */
  parent: number;
  /** The position of the structure that it is, or to which the place belongs; else -1. */
  position: number;
  /** The place in the source, if there is one; line 0: the whole file. */
  file: string;
  line: number;
}

/** A frame while paths are added to it. */
export interface Branch {
  frame: Omit<Frame, "begin" | "depth" | "parent">;
  below: Map<string, Branch>;
}

export function branch(name: string, kind: FrameKind, more: Partial<Frame> = {}): Branch {
  const frame = { name, title: name, kind, value: 0, position: -1, file: "", line: 0, ...more };
  return { frame, below: new Map() };
}

/** The branch with this key below another one; it gets the value. */
export function child(of: Branch, key: string, make: () => Branch, value: number): Branch {
  let found = of.below.get(key);
  if (!found) of.below.set(key, (found = make()));
  found.frame.value += value;
  return found;
}

/** The frames below the root, each after its parent. */
export function flattened(root: Branch): Frame[] {
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

/** The frames to show if one takes the whole width: its callers, itself, and those below it. */
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

export type FlameStep = "caller" | "called" | "before" | "after";

/** The frame beside `index` among those shown. */
export function neighbour(
  frames: readonly Frame[],
  shown: readonly Shown[],
  index: number,
  step: FlameStep,
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
