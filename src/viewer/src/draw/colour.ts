// SPDX-License-Identifier: Apache-2.0
// Colours as 32-bit pixels (little endian RGBA), the same for canvases and legends.
//
// Accesses: on a dark page viridis, from dark to light; on a light page ColorBrewer's YlGnBu, from
// light to dark, so that larger values always stand out more. Both change lightness steadily and
// are readable with every common colour blindness. Threads: hues of equal lightness from blue over
// magenta to amber, which go steadily from blue to yellow, so their order survives red-green
// blindness. In grey, accesses go from light to dark, and threads from dark to light, both in equal
// steps of lightness.

import { hcl, rgb } from "d3-color";
import { interpolateViridis, interpolateYlGnBu } from "d3-scale-chromatic";
import type { Scale, Theme } from "../model/page-state";

const STEPS = 256;
/** The start of the scales. One access is already visibly different from zero. */
const LOWEST = { light: 0.22, dark: 0.16, grey: 0.12 };
const SCHEMES = {
  light: interpolateYlGnBu,
  dark: interpolateViridis,
  grey: (t: number) => hcl(0, 0, 100 - 95 * t).formatHex(),
};

const ramps = new Map<Theme, Uint32Array>();

export function accessRamp(theme: Theme): Uint32Array {
  let ramp = ramps.get(theme);
  if (!ramp) {
    ramp = Uint32Array.from({ length: STEPS }, (_, i) => {
      const low = LOWEST[theme];
      return pixel(SCHEMES[theme](low + ((1 - low) * i) / (STEPS - 1)));
    });
    ramps.set(theme, ramp);
  }
  return ramp;
}

/** Maps an access density in (0, largest] to 0 .. 1. A density above 0 is never drawn as 0. */
export function intensity(value: number, largest: number, scale: Scale): number {
  if (value <= 0 || largest <= 0) return 0;
  if (scale === "linear") return Math.min(1, value / largest);
  const lowest = lowestOfLog(largest);
  return Math.max(0, Math.min(1, Math.log(value / lowest) / Math.log(largest / lowest)));
}

/** The logarithmic scale spans six decades at most, fewer when the largest is small. */
export function lowestOfLog(largest: number): number {
  return largest > 10 ? Math.max(1, largest / 1e6) : largest / 10;
}

export interface Tick {
  value: number;
  /** 0 is the left end of the colours, 1 the right end. */
  at: number;
}

/** Powers of ten between the ends of the logarithmic scale: at most two, far from the ends. */
export function ticksOfLog(largest: number): Tick[] {
  const lowest = lowestOfLog(largest);
  const decades = Math.log10(largest / lowest);
  if (decades < 3) return [];
  const step = Math.ceil(decades / 3);
  const ticks: Tick[] = [];
  for (let power = Math.ceil(Math.log10(lowest)); 10 ** power < largest; power++) {
    const at = (power - Math.log10(lowest)) / decades;
    const before = ticks.at(-1)?.at ?? 0;
    if (at - before >= step / decades - 1e-9 && 1 - at >= 0.2)
      ticks.push({ value: 10 ** power, at });
  }
  return ticks;
}

export function accessPixel(ramp: Uint32Array, t: number): number {
  return ramp[Math.round(t * (STEPS - 1))]!;
}

/** Colour of row `row` of `rows`; `chroma` 0 .. 1 fades it to grey. */
export function threadColour(row: number, rows: number, theme: Theme, chroma = 1): string {
  const t = rows > 1 ? row / (rows - 1) : 0;
  if (theme === "grey") return hcl(0, 0, 20 + 50 * t).formatHex();
  return hcl(268 + t * 172, 62 * chroma, theme === "light" ? 54 : 68).formatHex();
}

export function threadPixels(rows: number, theme: Theme): Uint32Array {
  return Uint32Array.from({ length: rows }, (_, row) => pixel(threadColour(row, rows, theme)));
}

export function pixel(colour: string, alpha = 1): number {
  const { r, g, b } = rgb(colour);
  const a = Math.round(alpha * 255);
  return ((a << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
}

export function cssOf(value: number): string {
  return `rgb(${value & 255}, ${(value >> 8) & 255}, ${(value >> 16) & 255})`;
}
