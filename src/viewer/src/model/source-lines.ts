// SPDX-License-Identifier: Apache-2.0
// Finds which functions, loops and lines read and write a structure, the busiest first.

import type { Loop, Report, SourceWindow } from "../data/report";

/** The source lines that the reader selected: lines first .. last of a file. */
export interface Stretch {
  file: string;
  first: number;
  last: number;
}

export interface Uses {
  reads: number;
  writes: number;
  /** The part of both that is known from samples only. */
  estimated: number;
}

export interface LineUse extends Uses {
  line: number;
}

export interface LoopUse extends Uses {
  loop: Loop;
  lines: LineUse[];
}

export interface FunctionUse extends Uses {
  name: string;
  file: string;
  loops: LoopUse[];
  /** Lines outside of all loops. */
  lines: LineUse[];
}

/** Functions with their loops and lines; each list is in order of accesses. */
export function usesOf(
  { lines, places, loops }: Report,
  position: number,
  phases: readonly number[],
): FunctionUse[] {
  const chosen = new Set(phases);
  const functions = new Map<string, FunctionUse & { byLoop: Map<number, LoopUse> }>();
  for (let i = lines.begin[position] ?? 0; i < (lines.begin[position + 1] ?? 0); i++) {
    if (!chosen.has(lines.phase[i]!)) continue;
    const place = lines.place[i]!;
    const uses = {
      reads: lines.reads[i]!,
      writes: lines.writes[i]!,
      estimated: lines.estimated[i]!,
    };
    const name = places.function[place] ?? "";
    const file = places.file[place] ?? "";
    const key = `${name}\n${file}`;
    let found = functions.get(key);
    if (!found) {
      found = { name, file, ...none(), loops: [], lines: [], byLoop: new Map() };
      functions.set(key, found);
    }
    add(found, uses);
    const number = places.loop[place] ?? -1;
    const loop = loops[number];
    if (loop && !found.byLoop.has(number)) {
      const use: LoopUse = { loop, ...none(), lines: [] };
      found.byLoop.set(number, use);
      found.loops.push(use);
    }
    const within = found.byLoop.get(number);
    if (within) add(within, uses);
    addLine(within?.lines ?? found.lines, places.line[place] ?? 0, uses);
  }
  const sorted = [...functions.values()].map(({ byLoop: _, ...use }) => ({
    ...use,
    lines: use.lines.sort(busiest),
    loops: use.loops.sort(busiest).map((loop) => ({ ...loop, lines: loop.lines.sort(busiest) })),
  }));
  return sorted.sort(busiest);
}

function none(): Uses {
  return { reads: 0, writes: 0, estimated: 0 };
}

function add(to: Uses, { reads, writes, estimated }: Uses): void {
  to.reads += reads;
  to.writes += writes;
  to.estimated += estimated;
}

function addLine(lines: LineUse[], line: number, uses: Uses): void {
  const found = lines.find((other) => other.line === line);
  if (found) add(found, uses);
  else lines.push({ line, ...uses });
}

function busiest(a: Uses, b: Uses): number {
  return b.reads + b.writes - (a.reads + a.writes);
}

export function sumOf(uses: readonly Uses[]): Uses {
  const sum = none();
  for (const use of uses) add(sum, use);
  return sum;
}

/** Less is not worth a mark. */
const MIN_ESTIMATED = 0.005;

/** The share of the uses that is estimated; 0 if it is too small to be shown. */
export function estimatedShare({ reads, writes, estimated }: Uses): number {
  const share = estimated / Math.max(1, reads + writes);
  return share < MIN_ESTIMATED ? 0 : share;
}

/** Accesses per line of `file`, by all functions (inlined ones have lines of the same file). */
export function lineSums(functions: readonly FunctionUse[], file: string): Map<number, Uses> {
  const sums = new Map<number, Uses>();
  for (const use of functions) {
    if (use.file !== file) continue;
    for (const each of [...use.lines, ...use.loops.flatMap((l) => l.lines)]) {
      const sum = sums.get(each.line) ?? none();
      add(sum, each);
      sums.set(each.line, sum);
    }
  }
  return sums;
}

/** The stretch of source text that has the line, where the report holds it. */
export function windowOf(
  sources: readonly SourceWindow[] | undefined,
  file: string,
  line: number,
): SourceWindow | undefined {
  return sources?.find(
    (window) =>
      window.file === file && window.first <= line && line < window.first + window.text.length,
  );
}
