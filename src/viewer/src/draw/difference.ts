// SPDX-License-Identifier: Apache-2.0
// Draws two groups of threads and their difference as three bands, one below the other.

import { lab } from "d3-color";
import type { Axis } from "../model/bins";
import { accessPixel, accessRamp, intensity, pixel } from "./colour";
import type { Scale, Theme } from "./colour";
import { fillPixels, hatched } from "./surface";
import type { Surface } from "./surface";

/** In grey, what B has more is hatched. From "B more" over "equal" to "A more": orange and purple, apart for every colour blindness. */
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
  largestMean: number;
  largestMore: number;
}

/** Where the bands of A, B and A - B are, as fractions of the height. */
export const BANDS = [
  [0, 0.3],
  [0.34, 0.64],
  [0.68, 1],
] as const;

export function drawDifference(
  surface: Surface,
  { x, a, b, largestMean, largestMore }: Bands,
  scale: Scale,
  theme: Theme,
): void {
  const { context, width, height, ratio } = surface;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = accessRamp(theme);
  const white = pixel("#ffffff");
  const rows = BANDS.map(([top, bottom]): [number, number] => [
    Math.round(top * height),
    Math.round(bottom * height),
  ]);
  for (let bin = 0; bin < x.left.length; bin++) {
    const columns: [number, number] = [x.left[bin]!, x.right[bin]!];
    [a[bin]!, b[bin]!].forEach((mean, band) => {
      if (mean <= 0) return;
      const colour = accessPixel(ramp, intensity(mean, largestMean, scale));
      fillPixels(pixels, width, columns, rows[band]!, colour);
    });
    if (a[bin] === 0 && b[bin] === 0) continue;
    const more = a[bin]! - b[bin]!;
    const t = Math.sign(more) * intensity(Math.abs(more), largestMore, scale);
    const colour = pixel(differenceColour(t, theme));
    fillPixels(pixels, width, columns, rows[2]!, colour);
    if (theme !== "grey" || more >= 0) continue;
    for (let y = rows[2]![0]; y < rows[2]![1]; y++) {
      for (let px = columns[0]; px < columns[1]; px++) {
        if (hatched(px, y, ratio)) pixels[y * width + px] = white;
      }
    }
  }
  context.putImageData(image, 0, 0);
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
