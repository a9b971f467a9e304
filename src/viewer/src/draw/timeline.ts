// SPDX-License-Identifier: Apache-2.0
// The run's time line: a rectangle per occurrence of a phase.

import type { Spans } from "../data/report";
import type { Surface } from "./surface";

/** Phases that are not chosen stay visible, but faint. */
const FAINT = 0.22;

export function drawTimeline(
  { context, width, height, ratio }: Surface,
  spans: Spans,
  end: number,
  colours: readonly string[],
  isChosen: (phase: number) => boolean,
): void {
  for (let i = 0; i < spans.phase.length; i++) {
    const phase = spans.phase[i]!;
    const left = (spans.start[i]! / end) * width;
    const right = (spans.end[i]! / end) * width;
    context.globalAlpha = isChosen(phase) ? 1 : FAINT;
    context.fillStyle = colours[phase] ?? "gray";
    // Short occurrences are widened until they are visible.
    const shown = Math.max(ratio, right - left);
    const gap = shown > 6 * ratio ? 0.5 * ratio : 0;
    context.fillRect(left, 0, shown - gap, height);
  }
  context.globalAlpha = 1;
}
