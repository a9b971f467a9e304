// SPDX-License-Identifier: Apache-2.0
// Colours of nodes and of phases: categories, so neighbours in the list differ strongly.

import { hcl } from "d3-color";
import type { Theme } from "../model/page-state";

/** Hues in an order that keeps the first few apart for all common colour blindnesses. */
const HUES = [256, 60, 165, 350, 95, 300, 205, 25];
const LIGHTNESS: Record<Theme, readonly [number, number]> = {
  light: [50, 68],
  dark: [70, 54],
  grey: [25, 70],
};

/** Lightness: paler than all nodes, but not as pale as an empty strip. */
const GREY_UNKNOWN = 84;

function categoryColour(index: number, count: number, theme: Theme, chroma: number): string {
  const [first, second] = LIGHTNESS[theme];
  if (theme === "grey") {
    const t = count > 1 ? index / (count - 1) : 0;
    return hcl(0, 0, first + (second - first) * t).formatHex();
  }
  // After all hues are used, further rounds use the hues between them.
  const round = Math.floor(index / HUES.length);
  const hue = HUES[index % HUES.length]! + round * 17;
  const lightness = (index + round) % 2 === 0 ? first : second;
  return hcl(hue, 52 * chroma, lightness).formatHex();
}

/** Colour of node `index` of `nodes` (positions); the one after the last is unknown: grey. */
export function nodeColour(index: number, nodes: number, theme: Theme, chroma = 1): string {
  if (theme === "grey" && index >= nodes) return hcl(0, 0, GREY_UNKNOWN).formatHex();
  return categoryColour(index, nodes, theme, index >= nodes ? 0 : chroma);
}

/** Colour of a phase. If there are several, the first one, outside all others, is grey. */
export function phaseColour(phase: number, phases: number, theme: Theme): string {
  if (phases === 1) return categoryColour(0, 1, theme, 1);
  if (phase === 0) return hcl(0, 0, theme === "dark" ? 42 : 78).formatHex();
  return categoryColour(phase - 1, phases - 1, theme, 1);
}
