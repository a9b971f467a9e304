// SPDX-License-Identifier: Apache-2.0
// Accesses and first touches by the code that makes them, as the frames of a flame graph.
//
// A path is a function, the innermost loop, the source line, and the structure that it uses.

import type { Places, Report } from "../data/report";
import { touchesOf } from "./call-paths";
import type { PathMeasure } from "./call-paths";
import * as show from "./format";
import { branch, child, flattened } from "./flame";
import type { Branch, Frame } from "./flame";

/** Whether it is known which code accesses memory. */
export function knowsCode({ lines, places }: Report): boolean {
  return lines.place.some((place) => (places.function[place] ?? "") !== "");
}

/** The frames, each after its parent; `only` is the position of a structure, or -1 for all. */
export function codePaths(
  report: Report,
  phases: readonly number[],
  measure: PathMeasure,
  only = -1,
): Frame[] {
  const root = branch(show.fileName(report.run.program) || "the run", "run");
  const of = measure === "touches" ? touchesOf : usesOf[measure];
  report.structures.forEach(({ instance }, position) => {
    if (instance >= 0 || (only >= 0 && position !== only)) return;
    for (const [place, value] of of(report, position, phases)) {
      if (value > 0) addPath(root, report, place, position, value);
    }
  });
  return flattened(root);
}

const usesOf = { accesses: accessesOf, remote: remoteOf };

/** Accesses to the structure by the index of the place that makes them. */
function accessesOf(report: Report, position: number, phases: readonly number[]) {
  return linesOf(report, position, phases, () => 1);
}

/**
 * Remote accesses likewise. Which line makes them is not recorded: in each phase, all lines that use
 * a structure get the same share of its remote accesses.
 */
function remoteOf(report: Report, position: number, phases: readonly number[]) {
  const { traffic, lines, phases: all } = report;
  const sums = new Float64Array(all.length);
  for (let i = lines.begin[position] ?? 0; i < (lines.begin[position + 1] ?? 0); i++) {
    sums[lines.phase[i]!]! += lines.reads[i]! + lines.writes[i]!;
  }
  const share = (phase: number) =>
    (traffic.remote[position * all.length + phase] ?? 0) / Math.max(1, sums[phase]!);
  return linesOf(report, position, phases, share);
}

function linesOf(
  { lines }: Report,
  position: number,
  phases: readonly number[],
  weight: (phase: number) => number,
): Map<number, number> {
  const chosen = new Set(phases);
  const uses = new Map<number, number>();
  for (let i = lines.begin[position] ?? 0; i < (lines.begin[position + 1] ?? 0); i++) {
    const phase = lines.phase[i]!;
    if (!chosen.has(phase)) continue;
    const place = lines.place[i]!;
    const value = (lines.reads[i]! + lines.writes[i]!) * weight(phase);
    uses.set(place, (uses.get(place) ?? 0) + value);
  }
  return uses;
}

function addPath(
  root: Branch,
  { places, loops, structures }: Report,
  place: number,
  position: number,
  value: number,
): void {
  root.frame.value += value;
  const { text, file, line } = placeOf(places, place);
  let at = child(root, `function ${text}\n${file}`, () => branch(text, "call", { file }), value);
  const number = places.loop[place] ?? -1;
  const loop = loops[number];
  if (loop) {
    const name = `${loop.kind} loop, lines ${loop.first}–${loop.last}`;
    const make = () => branch(name, "loop", { file: loop.file, line: loop.first });
    at = child(at, `loop ${number}`, make, value);
  }
  if (line) {
    at = child(at, `line ${line}`, () => branch(`line ${line}`, "place", { file, line }), value);
  }
  const make = () => branch(structures[position]!.name, "structure", { position, file, line });
  child(at, `structure ${position}`, make, value);
}

function placeOf(places: Places, place: number) {
  const [name, file] = [places.function[place] ?? "", places.file[place] ?? ""];
  const where = file ? ` (${show.fileName(file)})` : "";
  return { text: `${name || "unknown function"}${where}`, file, line: places.line[place] ?? 0 };
}
