// SPDX-License-Identifier: Apache-2.0
import { largestIn } from "../model/rank-map";
import type { RankMap } from "../model/rank-map";
import { accessPixel, accessRamp, intensity } from "./colour";
import type { Scale, Theme } from "../model/page-state";
import { fillPixels } from "./surface";
import type { Surface } from "./surface";

/** A pixel that stands for several ranks has the largest of their values, so no outlier is lost. */
export function drawRankMap(surface: Surface, map: RankMap, scale: Scale, theme: Theme): void {
  const { context, width, height, ratio } = surface;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = accessRamp(theme);
  const ranks = map.columns.length;
  const gap = Math.round(ratio);
  const strips = Math.min(width, ranks);
  for (let row = 0; row < map.rows; row++) {
    const top = Math.round((row * height) / map.rows);
    const bottom = Math.round(((row + 1) * height) / map.rows) - gap;
    for (let strip = 0; strip < strips; strip++) {
      const from = Math.floor((strip * ranks) / strips);
      const to = Math.max(from + 1, Math.floor(((strip + 1) * ranks) / strips));
      const value = map.values[row * ranks + largestIn(map, row, from, to)]!;
      if (Number.isNaN(value)) continue;
      const left = Math.round((strip * width) / strips);
      const right = Math.max(left + 1, Math.round(((strip + 1) * width) / strips));
      // A share of 0 is known, and not blank.
      const t = value > 0 ? intensity(value, map.largest, scale) : 0;
      fillPixels(pixels, width, [left, right], [top, bottom], accessPixel(ramp, t));
    }
  }
  context.putImageData(image, 0, 0);
}
