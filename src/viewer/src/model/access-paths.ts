// SPDX-License-Identifier: Apache-2.0
// Sampled accesses and first touches by the calls that led to them, as the frames of a flame graph.
//
// A path is the calling functions, the outermost first, the source line of the access, and the
// structure. A function that calls another one in several lines is one frame.

import type { AccessPaths, Report } from "../data/report";
import { pathMeasures } from "./call-paths";
import type { PathMeasure } from "./call-paths";
import * as show from "./format";
import { branch, child, flattened } from "./flame";
import type { Branch, Frame } from "./flame";

/** The measures of which the callers are known, among those that the run has. */
export function knownCallers(report: Report): PathMeasure[] {
  return pathMeasures(report).filter((one) => (pathsOf(report, one)?.accesses.length ?? 0) > 0);
}

function pathsOf({ access_paths: accesses, touch_paths: touches }: Report, measure: PathMeasure) {
  return measure === "touches" ? touches : accesses;
}

/** The frames, each after its parent; `only` is the position of a structure, or -1 for all. */
export function accessPaths(
  report: Report,
  phases: readonly number[],
  measure: PathMeasure,
  only = -1,
): Frame[] {
  const root = branch(show.fileName(report.run.program) || "the run", "run");
  const paths = pathsOf(report, measure);
  const values = measure === "remote" ? report.traffic.path_remote : paths?.accesses;
  const chosen = new Set(phases);
  paths?.path.forEach((path, i) => {
    const value = values?.[i] ?? 0;
    const position = paths.position[i]!;
    if (value <= 0 || !chosen.has(paths.phase[i]!) || (only >= 0 && position !== only)) return;
    addPath(root, report, paths, path, position, value);
  });
  return flattened(root);
}

function addPath(
  root: Branch,
  { structures }: Report,
  paths: AccessPaths,
  path: number,
  position: number,
  value: number,
): void {
  root.frame.value += value;
  const calls: number[] = [];
  for (let call = path; call >= 0; call = paths.caller[call]!) calls.push(call);
  let at = root;
  for (const call of calls.reverse()) {
    const key = `${paths.function[call]}\n${paths.file[call]}\n${paths.module[call]}`;
    // Paths come in the order of their accesses, so the line is that of the most used call.
    at = child(at, `call ${key}`, () => callBranch(paths, call), value);
  }
  const [file, line] = [paths.file[path]!, paths.line[path]!];
  if (line) {
    at = child(at, `line ${line}`, () => branch(`line ${line}`, "place", { file, line }), value);
  }
  const make = () => branch(structures[position]!.name, "structure", { position, file, line });
  child(at, `structure ${position}`, make, value);
}

function callBranch(paths: AccessPaths, call: number): Branch {
  const [name, file, module] = [paths.function[call]!, paths.file[call]!, paths.module[call]!];
  if (name) {
    const where = show.fileName(file || module);
    const text = where ? `${name} (${where})` : name;
    return branch(text, "call", { file, line: paths.line[call]! });
  }
  if (module) return branch(`code in ${module}`, "call");
  return paths.caller[call]! < 0
    ? branch("unknown callers", "group")
    : branch("unknown function", "call");
}
