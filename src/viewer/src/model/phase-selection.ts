// SPDX-License-Identifier: Apache-2.0
// Selections of phases: null stands for all phases, otherwise positions in ascending order.

import type { Spans } from "../data/report";

export type Selection = readonly number[] | null;

export function chosenPhases(selection: Selection, count: number): readonly number[] {
  return selection ?? Array.from({ length: count }, (_, phase) => phase);
}

/** A click selects `phase` alone, or all if it was alone. With `add`, it is added or removed. */
export function picked(
  selection: Selection,
  phase: number,
  add: boolean,
  count: number,
): Selection {
  if (!add) return selection?.length === 1 && selection[0] === phase ? null : [phase];
  // Adding to "all" begins a new selection: otherwise the click would remove the phase.
  const before = selection ?? [];
  const after = before.includes(phase)
    ? before.filter((other) => other !== phase)
    : [...before, phase].sort((a, b) => a - b);
  return after.length === 0 || after.length === count ? null : after;
}

/** Phases that ran between two times (microseconds), or null when none or all did. */
export function phasesBetween(spans: Spans, from: number, to: number, count: number): Selection {
  const found = new Set<number>();
  for (let i = 0; i < spans.phase.length; i++) {
    if (spans.start[i]! < to && spans.end[i]! > from) found.add(spans.phase[i]!);
  }
  if (found.size === 0 || found.size === count) return null;
  return [...found].sort((a, b) => a - b);
}

/** The phase that ran at `time`, or undefined; a later span lies on top of an earlier one. */
export function phaseAt(spans: Spans, time: number): number | undefined {
  for (let i = spans.phase.length - 1; i >= 0; i--) {
    if (spans.start[i]! <= time && time <= spans.end[i]!) return spans.phase[i];
  }
  return undefined;
}

/** The end of the time line in microseconds. */
export function timeEnd(spans: Spans, endNs: number): number {
  let end = endNs / 1000;
  for (let i = 0; i < spans.end.length; i++) end = Math.max(end, spans.end[i]!);
  return Math.max(1, end);
}
