// SPDX-License-Identifier: Apache-2.0
// The thread x thread map of shared accesses, on a logarithmic scale.

import type { SharingMatrix } from "../model/sharing";
import { accessPixel, accessRamp, intensity } from "./colour";
import type { Theme } from "../model/page-state";
import { fillPixels } from "./surface";
import type { Surface } from "./surface";

/** The largest value off the diagonal: the end of the colour scale. */
export function largestShared({ size, shared }: SharingMatrix): number {
  let largest = 0;
  shared.forEach((value, i) => {
    if (Math.floor(i / size) !== i % size) largest = Math.max(largest, value);
  });
  return largest;
}

export function drawSharing(
  { context, width, height, ratio }: Surface,
  { size, shared }: SharingMatrix,
  largest: number,
  theme: Theme,
): void {
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = accessRamp(theme);
  // Fields are separated while they are large enough.
  const gap = width / size > 12 * ratio ? Math.round(ratio) : 0;
  for (let row = 0; row < size; row++) {
    const [top, bottom] = edges(row, size, height);
    for (let column = 0; column < size; column++) {
      const value = shared[row * size + column]!;
      if (row === column || value === 0) continue;
      const [left, right] = edges(column, size, width);
      const colour = accessPixel(ramp, intensity(value, largest, "log"));
      fillPixels(pixels, width, [left, right - gap], [top, bottom - gap], colour);
    }
  }
  context.putImageData(image, 0, 0);
}

function edges(index: number, of: number, pixels: number): [number, number] {
  return [Math.round((index * pixels) / of), Math.round(((index + 1) * pixels) / of)];
}
