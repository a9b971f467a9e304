// SPDX-License-Identifier: Apache-2.0
// Notes how each canvas of the page is drawn, so that it can be drawn at another resolution.

import type { Surface } from "../draw/surface";

const drawings = new WeakMap<HTMLCanvasElement, (surface: Surface) => void>();

export function keepDrawing(canvas: HTMLCanvasElement, draw: (surface: Surface) => void): void {
  drawings.set(canvas, draw);
}

/** A PNG of the canvas at `ratio` device pixels per CSS pixel, as a data URL. */
export function pictureOf(canvas: HTMLCanvasElement, ratio: number): string {
  const draw = drawings.get(canvas);
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  const copy = document.createElement("canvas");
  const context = copy.getContext("2d");
  if (!draw || !context || width < 1 || height < 1) return canvas.toDataURL("image/png");
  copy.width = width;
  copy.height = height;
  draw({ context, width, height, ratio });
  return copy.toDataURL("image/png");
}
