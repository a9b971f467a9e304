// SPDX-License-Identifier: Apache-2.0
// Where in a structure its pages are: a column for each range of addresses.

import type { Surface } from "./surface";

/**
 * Draws the percent of each range that are on each node, above each other. The rest of a column is
 * empty: it is not in memory. `shares` is by node, then by range; empty: nothing on the node.
 */
export function drawPositions(
  { context, width, height }: Surface,
  shares: readonly (readonly number[])[],
  colourOf: (node: number) => string,
): void {
  const ranges = Math.max(...shares.map(({ length }) => length));
  const edge = (at: number) => Math.round((width * at) / ranges);
  for (let at = 0; at < ranges; at++) {
    let bottom = height;
    heights(
      shares.map((ofNode) => ofNode[at] ?? 0),
      height,
    ).forEach((one, node) => {
      if (one === 0) return;
      bottom -= one;
      context.fillStyle = colourOf(node);
      context.fillRect(edge(at), bottom, edge(at + 1) - edge(at), one);
    });
  }
}

/** Pixels for each percentage; each share above 0 has one, and all have at most `height`. */
function heights(percent: readonly number[], height: number): number[] {
  const found = percent.map((one) => (one > 0 ? Math.max(1, Math.round((height * one) / 100)) : 0));
  const excess = found.reduce((sum, one) => sum + one, 0) - height;
  if (excess > 0) {
    const largest = found.indexOf(Math.max(...found));
    found[largest] = Math.max(1, found[largest]! - excess);
  }
  return found;
}
