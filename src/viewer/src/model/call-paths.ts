// SPDX-License-Identifier: Apache-2.0
// Accesses and first touches by the call paths of allocations, as the frames of a flame graph.
//
// A path is the call stack of an allocation, outermost function first, then the structure, and for
// first touches the source place that touched its pages.

import type { Report, Structure } from "../data/report";
import { knowsThreads, seesAccesses } from "./counting";
import { branch, child, flattened } from "./flame";
import type { Branch, Frame } from "./flame";
import { structureRows } from "./structure-list";

export type PathMeasure = "accesses" | "remote" | "touches";

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
  if (!knowsThreads(run)) return ["accesses"];
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

/** File and line in the text of a call, such as `main (folder/program.c:12)`. */
function callBranch(call: string): Branch {
  const [, text, folder, file, line] =
    /^(.*) \(([^()]*\/)?([^()/]+?)(?::(\d{1,9}))?\)$/.exec(call) ?? [];
  if (!text || !file) return branch(call, "call");
  const where = line ? { file: `${folder ?? ""}${file}`, line: Number(line) } : {};
  return branch(`${text} (${file}${line ? `:${line}` : ""})`, "call", { title: call, ...where });
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
export function touchesOf(
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
