// SPDX-License-Identifier: Apache-2.0
// Draws the difference of two groups of threads as bands by page, and of two runs as a map by page
// and thread.

import { lab } from "d3-color";
import type { Axis, Binned } from "../model/bins";
import { accessPixel, accessRamp, intensity, pixel } from "./colour";
import type { Scale, Theme } from "../model/page-state";
import { fillPixels, hatched } from "./surface";
import type { Surface } from "./surface";

/**
 * Colours from "B more" over "equal" to "A more". Orange and purple differ for every colour
 * blindness. In grey, what B has more is hatched.
 */
const END_COLOURS: Record<Theme, readonly [string, string, string]> = {
  light: ["#a34a00", "#f2f2f2", "#4b2a8c"],
  dark: ["#ffb04d", "#23272e", "#b9a1ff"],
  grey: ["#1a1a1a", "#f4f4f4", "#1a1a1a"],
};

/** Colour of a difference from -1 (B has it all) to 1 (A has it all). */
export function differenceColour(t: number, theme: Theme): string {
  const [b, none, a] = END_COLOURS[theme];
  const from = lab(none);
  const to = lab(t < 0 ? b : a);
  // A small difference never looks like equality.
  const part = t === 0 ? 0 : 0.12 + 0.88 * Math.min(1, Math.abs(t));
  const mix = (x: number, y: number) => x + (y - x) * part;
  return lab(mix(from.l, to.l), mix(from.a, to.a), mix(from.b, to.b)).formatHex();
}

export interface Bands {
  x: Axis;
  a: Float64Array;
  b: Float64Array;
  /** The end of the scale of A, of B, and of their difference. */
  end: number;
}

/** The places of the bands of A, B and A - B, as fractions of the height. */
export const BANDS = [
  [0, 0.3],
  [0.34, 0.64],
  [0.68, 1],
] as const;

export function drawDifference(
  surface: Surface,
  { x, a, b, end }: Bands,
  scale: Scale,
  theme: Theme,
): void {
  const { context, width, height } = surface;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = accessRamp(theme);
  const rows = BANDS.map(([top, bottom]): [number, number] => [
    Math.round(top * height),
    Math.round(bottom * height),
  ]);
  for (let bin = 0; bin < x.left.length; bin++) {
    const columns: [number, number] = [x.left[bin]!, x.right[bin]!];
    [a[bin]!, b[bin]!].forEach((mean, band) => {
      if (mean <= 0) return;
      const colour = accessPixel(ramp, intensity(mean, end, scale));
      fillPixels(pixels, width, columns, rows[band]!, colour);
    });
    if (a[bin] === 0 && b[bin] === 0) continue;
    const more = a[bin]! - b[bin]!;
    fillMore(surface, pixels, columns, rows[2]!, signed(more, end, scale), theme);
  }
  context.putImageData(image, 0, 0);
}

/**
 * Draws by page and thread what A or B has more; a cell without accesses has no colour. The scale
 * ends where those of A and B end: a difference that is small beside them has a weak colour.
 */
export function drawDifferenceMap(
  surface: Surface,
  a: Binned,
  b: Binned,
  end: number,
  scale: Scale,
  theme: Theme,
): void {
  const { context, width, height } = surface;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const { x, y } = a;
  const bins = x.left.length;
  y.left.forEach((top, line) => {
    const rows: [number, number] = [top, y.right[line]!];
    for (let bin = 0; bin < bins; bin++) {
      const [inA, inB] = [a.value[line * bins + bin]!, b.value[line * bins + bin]!];
      if (!(inA > 0) && !(inB > 0)) continue;
      const t = signed((inA || 0) - (inB || 0), end, scale);
      fillMore(surface, pixels, [x.left[bin]!, x.right[bin]!], rows, t, theme);
    }
  });
  context.putImageData(image, 0, 0);
}

/** A difference as -1 (B has `end` more) to 1 (A has `end` more). */
function signed(more: number, end: number, scale: Scale): number {
  return Math.sign(more) * intensity(Math.abs(more), end, scale);
}

function fillMore(
  { width, ratio }: Surface,
  pixels: Uint32Array,
  columns: [number, number],
  rows: [number, number],
  t: number,
  theme: Theme,
): void {
  fillPixels(pixels, width, columns, rows, pixel(differenceColour(t, theme)));
  if (theme !== "grey" || t >= 0) return;
  const white = pixel("#ffffff");
  for (let y = rows[0]; y < rows[1]; y++) {
    for (let x = columns[0]; x < columns[1]; x++) {
      if (hatched(x, y, ratio)) pixels[y * width + x] = white;
    }
  }
}

/** The scale itself, "B more" on the left. */
export function drawDifferenceScale(
  { context, width, height, ratio }: Surface,
  theme: Theme,
): void {
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const white = pixel("#ffffff");
  for (let x = 0; x < width; x++) {
    const t = (2 * x) / Math.max(1, width - 1) - 1;
    fillPixels(pixels, width, [x, x + 1], [0, height], pixel(differenceColour(t, theme)));
    for (let y = 0; theme === "grey" && t < 0 && y < height; y++) {
      if (hatched(x, y, ratio)) pixels[y * width + x] = white;
    }
  }
  context.putImageData(image, 0, 0);
}
