// SPDX-License-Identifier: Apache-2.0
// A canvas at device resolution.

export interface Surface {
  context: CanvasRenderingContext2D;
  /** Device pixels. */
  width: number;
  height: number;
  ratio: number;
}

/** Fit the canvas's pixels to its size on the page, clear it; undefined while it has no size. */
export function surfaceOf(canvas: HTMLCanvasElement): Surface | undefined {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  const context = canvas.getContext("2d");
  if (!context || width < 1 || height < 1) return undefined;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  } else {
    context.clearRect(0, 0, width, height);
  }
  return { context, width, height, ratio };
}

const SMALL = 16;

/** Fill pixels [left, right) x [top, bottom) of an image `width` pixels wide. */
export function fillPixels(
  pixels: Uint32Array,
  width: number,
  [left, right]: [number, number],
  [top, bottom]: [number, number],
  colour: number,
): void {
  for (let y = top; y < bottom; y++) {
    const start = y * width + left;
    const end = y * width + right;
    // A call costs more than a few pixels, and most fields are small.
    if (end - start > SMALL) pixels.fill(colour, start, end);
    else for (let at = start; at < end; at++) pixels[at] = colour;
  }
}

/** Whether a pixel lies on a diagonal line, where hatching stands for a hue. */
export function hatched(x: number, y: number, ratio: number): boolean {
  return (x + y) % Math.round(6 * ratio) < 2 * ratio;
}
