// SPDX-License-Identifier: Apache-2.0
// The page x thread maps: accesses, first touches, and the strip of a structure.

import type { Axis, Binned, Strip } from "../model/bins";
import { robustEnd } from "../model/matrix";
import { accessPixel, accessRamp, intensity, pixel } from "./colour";
import type { Scale, Theme } from "../model/page-state";
import { fillPixels, hatched } from "./surface";
import type { Surface } from "./surface";

export function drawAccesses(
  surface: Surface,
  { x, y, value }: Binned,
  largest: number,
  scale: Scale,
  theme: Theme,
): void {
  const ramp = accessRamp(theme);
  paint(surface, x, y, (bin) => {
    const density = value[bin]!;
    return density > 0 ? accessPixel(ramp, intensity(density, largest, scale)) : 0;
  });
}

/** `colours` are those of the matrix's rows. */
export function drawFirstTouches(
  surface: Surface,
  x: Axis,
  y: Axis,
  { pages, row }: { pages: Float64Array; row: Int32Array },
  colours: Uint32Array,
): void {
  paint(surface, x, thick(y, surface), (bin) => (pages[bin]! > 0 ? colours[row[bin]!]! : 0));
}

/** Make every row at least two CSS pixels high, so that single marks can be seen. */
function thick(y: Axis, { height, ratio }: Surface): Axis {
  const least = Math.round(2 * ratio);
  const right = y.right.map((end, i) => Math.min(height, Math.max(end, y.left[i]! + least)));
  const left = y.left.map((start, i) => Math.min(start, right[i]! - least));
  return { ...y, left, right };
}

function paint(
  { context, width, height }: Surface,
  x: Axis,
  y: Axis,
  colourOf: (bin: number) => number,
): void {
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const columns = x.left.length;
  for (let line = 0; line < y.left.length; line++) {
    const rows: [number, number] = [y.left[line]!, y.right[line]!];
    for (let bin = 0; bin < columns; bin++) {
      const colour = colourOf(line * columns + bin);
      if (colour) fillPixels(pixels, width, [x.left[bin]!, x.right[bin]!], rows, colour);
    }
  }
  context.putImageData(image, 0, 0);
}

/**
 * Hue: dominant thread or node; grey: none dominates; strength: accesses (logarithmic). `colourOf`
 * gives a row's colour, faded to grey by its chroma (0 .. 1).
 */
export function drawStrip(
  surface: Surface,
  strip: Strip,
  colourOf: (row: number, chroma: number) => string,
): void {
  const { context, width, height } = surface;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const largest = strip.mean.reduce((most, mean) => Math.max(most, mean), 0);
  strip.mean.forEach((mean, bin) => {
    if (mean <= 0) return;
    const chroma = dominance(strip.share[bin]!);
    const colour = colourOf(strip.row[bin]!, chroma);
    const strength = 0.25 + 0.75 * intensity(mean, largest, "log");
    const columns: [number, number] = [strip.x.left[bin]!, strip.x.right[bin]!];
    fillPixels(pixels, width, columns, [0, height], pixel(colour, strength));
  });
  context.putImageData(image, 0, 0);
}

/**
 * A strip without hues, for print. The height of a mark shows the dominant row, with the first row
 * at the top. Hatched over the whole height: no row dominates. Darker: more accesses. `rows` is the
 * number of rows.
 */
export function drawGreyStrip(surface: Surface, strip: Strip, rows: number): void {
  const { context, width, height, ratio } = surface;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = accessRamp("grey");
  const largest = strip.mean.reduce((most, mean) => Math.max(most, mean), 0);
  const thickness = Math.min(height, Math.max(Math.round(4 * ratio), Math.round(height / rows)));
  strip.mean.forEach((mean, bin) => {
    if (mean <= 0) return;
    const colour = accessPixel(ramp, 0.35 + 0.65 * intensity(mean, largest, "log"));
    const columns: [number, number] = [strip.x.left[bin]!, strip.x.right[bin]!];
    if (dominance(strip.share[bin]!) >= 0.5) {
      const part = rows > 1 ? strip.row[bin]! / (rows - 1) : 0;
      const top = Math.round(part * (height - thickness));
      fillPixels(pixels, width, columns, [top, top + thickness], colour);
      return;
    }
    for (let y = 0; y < height; y++) {
      for (let x = columns[0]; x < columns[1]; x++) {
        if (hatched(x, y, ratio)) pixels[y * width + x] = colour;
      }
    }
  });
  context.putImageData(image, 0, 0);
}

/** How clearly a share dominates: 0 below a fifth of the accesses, 1 from four fifths on. */
function dominance(share: number): number {
  return Math.max(0, Math.min(1, (share - 0.2) / 0.6));
}

/**
 * Bars along the horizontal (column averages) or vertical axis (row averages). A few bars far above
 * all others end at the border, in the second colour.
 */
export function drawBars(
  { context, width, height, ratio }: Surface,
  axis: Axis,
  mean: Float64Array,
  direction: "up" | "right",
  [colour, clippedColour]: readonly [string, string],
): void {
  const { end } = robustEnd(mean);
  if (end <= 0) return;
  const room = (direction === "up" ? height : width) - ratio;
  mean.forEach((value, bin) => {
    if (value <= 0) return;
    const from = axis.left[bin]!;
    const size = axis.right[bin]! - from;
    const length = Math.max(ratio, Math.min(1, value / end) * room);
    context.fillStyle = value > end ? clippedColour : colour;
    if (direction === "up") context.fillRect(from, height - length, size, length);
    else context.fillRect(0, from, length, size);
  });
}
