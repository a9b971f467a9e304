// SPDX-License-Identifier: Apache-2.0
// The visible part of a figure: pages x0 .. x1 by rows y0 .. y1. A page or row may be cut.

export interface Viewport {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

export interface Extent {
  width: number;
  height: number;
}

export function whole({ width, height }: Extent): Viewport {
  return { x0: 0, x1: Math.max(1, width), y0: 0, y1: Math.max(1, height) };
}

export function isWhole(view: Viewport, extent: Extent): boolean {
  const all = whole(extent);
  return view.x0 <= 0 && view.y0 <= 0 && view.x1 >= all.x1 && view.y1 >= all.y1;
}

/** `view`, moved into `extent`; the whole extent if the view begins beyond its end. */
export function inside(view: Viewport, extent: Extent): Viewport {
  const all = whole(extent);
  if (view.x0 >= all.x1 || view.y0 >= all.y1) return all;
  const [x0, x1] = shift(view.x0, Math.max(view.x0 + 1, view.x1), 0, all.x1);
  const [y0, y1] = shift(view.y0, Math.max(view.y0 + 1, view.y1), 0, all.y1);
  return { x0, x1, y0, y1 };
}

/** Scale around (x, y); factors below 1 zoom in. Stays inside `extent`. */
export function zoom(
  view: Viewport,
  extent: Extent,
  factor: { x: number; y: number },
  at: { x: number; y: number },
): Viewport {
  const all = whole(extent);
  const [x0, x1] = scale(view.x0, view.x1, factor.x, at.x, all.x1);
  const [y0, y1] = scale(view.y0, view.y1, factor.y, at.y, all.y1);
  return { x0, x1, y0, y1 };
}

/** Move by (x, y) pages and rows, as far as `extent` allows. */
export function pan(view: Viewport, extent: Extent, by: { x: number; y: number }): Viewport {
  const all = whole(extent);
  const [x0, x1] = shift(view.x0, view.x1, by.x, all.x1);
  const [y0, y1] = shift(view.y0, view.y1, by.y, all.y1);
  return { x0, x1, y0, y1 };
}

/** Show the rectangle between two points given as fractions of the present view. */
export function select(
  view: Viewport,
  extent: Extent,
  from: { x: number; y: number },
  to: { x: number; y: number },
): Viewport {
  const width = view.x1 - view.x0;
  const height = view.y1 - view.y0;
  const chosen = {
    x0: view.x0 + Math.min(from.x, to.x) * width,
    x1: view.x0 + Math.max(from.x, to.x) * width,
    y0: Math.floor(view.y0 + Math.min(from.y, to.y) * height),
    y1: Math.ceil(view.y0 + Math.max(from.y, to.y) * height),
  };
  const none = { x: 1, y: 1 };
  return zoom(chosen, extent, none, { x: chosen.x0, y: chosen.y0 });
}

function scale(low: number, high: number, factor: number, at: number, end: number) {
  const size = Math.min(end, Math.max(Math.min(1, end), (high - low) * factor));
  const part = high > low ? (at - low) / (high - low) : 0;
  return shift(at - part * size, at - part * size + size, 0, end);
}

function shift(low: number, high: number, by: number, end: number): [number, number] {
  const size = high - low;
  const start = Math.max(0, Math.min(low + by, end - size));
  return [start, Math.min(end, start + size)];
}
