// SPDX-License-Identifier: Apache-2.0
// Draws what cores do over time: in each row and part of the time, work below communication.

import type { Activity } from "../data/balance";
import type { Theme } from "../model/page-state";
import type { Surface } from "./surface";

export const KINDS = ["work", "communication", "migration"] as const;
export type Kind = (typeof KINDS)[number];

const COLOURS: Record<Theme, Record<Kind, string>> = {
  light: { work: "#3a86c0", communication: "#f0a35e", migration: "#c2185b" },
  dark: { work: "#4f9bd6", communication: "#c9772b", migration: "#ff6f9f" },
  grey: { work: "#8a8a8a", communication: "#cfcfcf", migration: "#111111" },
};

export function kindColour(kind: Kind, theme: Theme): string {
  return COLOURS[theme][kind];
}

export interface CoreTimeline {
  activity: Activity;
  /** The index of the first cell; a row has `parts` cells. */
  at: number;
  rows: number;
  parts: number;
  /** The share of the width that the simulated time takes. */
  extent: number;
  /** Fractions of the width: ends of iterations. */
  marks: readonly number[];
}

export function drawCoreTimeline(surface: Surface, drawn: CoreTimeline, theme: Theme): void {
  const { context, width, height, ratio } = surface;
  const { rows } = drawn;
  for (let row = 0; row < rows; row++) {
    const top = Math.round((row * height) / rows);
    const bottom = Math.round(((row + 1) * height) / rows);
    const gap = bottom - top > 5 * ratio ? ratio : 0;
    drawRow(surface, drawn, row, [top, bottom - gap], theme);
  }
  context.strokeStyle = theme === "dark" ? "#e7eaee" : "#15191e";
  context.lineWidth = ratio;
  context.setLineDash([2 * ratio, 3 * ratio]);
  context.beginPath();
  for (const mark of drawn.marks) {
    const x = Math.min(width - ratio, Math.round(mark * width)) + ratio / 2;
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();
  context.setLineDash([]);
}

/** Neighbouring parts that are equal are one rectangle. */
function drawRow(
  { context, width }: Surface,
  { activity, at, parts, extent }: CoreTimeline,
  row: number,
  [top, bottom]: [number, number],
  theme: Theme,
): void {
  const first = at + row * parts;
  const cell = (i: number) => KINDS.map((kind) => activity[kind][first + i]!);
  const x = (part: number) => (part / parts) * extent * width;
  // Whole pixels: no seams, and nothing is too short to be seen.
  const [left, right] = [
    (part: number) => Math.floor(x(part)),
    (part: number) => Math.ceil(x(part)),
  ];
  for (let start = 0; start < parts;) {
    const shares = cell(start);
    let end = start + 1;
    while (end < parts && KINDS.every((kind, k) => activity[kind][first + end] === shares[k]))
      end++;
    let below = bottom;
    KINDS.forEach((kind, k) => {
      const size = ((bottom - top) * shares[k]!) / 255;
      if (size <= 0) return;
      context.fillStyle = COLOURS[theme][kind];
      const above = Math.max(top, below - size);
      context.fillRect(left(start), above, right(end) - left(start), below - above);
      below = above;
    });
    start = end;
  }
}
