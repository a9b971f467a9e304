// SPDX-License-Identifier: Apache-2.0
// The colour that stands for a thread: its own, or that of the node it ran on.

import type { Report } from "../data/report";
import type { ColourBy, Theme } from "../model/page-state";
import { pixel, threadColour } from "./colour";
import { nodeColour } from "./node-colour";

/** The colours of lines; `rows` has for each line the position of its thread in the report. */
export function linePixels(
  { threads, traffic }: Report,
  rows: Uint32Array,
  colourBy: ColourBy,
  theme: Theme,
): Uint32Array {
  const { nodes, thread_node } = traffic;
  return rows.map((row) =>
    pixel(
      colourBy === "node"
        ? nodeColour(thread_node[row] ?? nodes.length, nodes.length, theme)
        : threadColour(row, threads.length, theme),
    ),
  );
}
