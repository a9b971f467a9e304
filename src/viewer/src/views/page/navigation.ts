// SPDX-License-Identifier: Apache-2.0
// Zooming and panning a page x thread figure with wheel, pointer and keyboard.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { inside, isWhole, pan, select, whole, zoom } from "../../model/viewport";
import type { Extent, Viewport } from "../../model/viewport";
import { useChangePage, usePageState } from "./page-state";

export interface PlotPoint {
  /** 0 .. 1 from the left and the top of the plot. */
  x: number;
  y: number;
}

export interface Brush {
  from: PlotPoint;
  to: PlotPoint;
}

export interface Navigation {
  view: Viewport;
  whole: boolean;
  brush: Brush | undefined;
  zoomBy: (factor: number, at?: PlotPoint, axes?: "x" | "y") => void;
  reset: () => void;
  /** Handlers for each plot. */
  pointer: {
    onPointerDown: (event: PointerEvent) => void;
    onPointerMove: (event: PointerEvent) => void;
    onPointerUp: (event: PointerEvent) => void;
    onDblClick: () => void;
  };
  onKeyDown: (event: KeyboardEvent) => void;
  /** When the reader asked for what is now being drawn (ms, performance.now). */
  askedAt: { current: number | undefined };
}

const STEP = 1.5;
/** A drag shorter than this many pixels is a click. */
const CLICK = 5;
const CENTRE = { x: 0.5, y: 0.5 };

export function useNavigation(extent: Extent, root: RefObject<HTMLElement>): Navigation {
  const moving = useMovableView(extent);
  const { view, zoomBy, reset, askedAt } = moving;
  useWheel(root, zoomBy);
  const { brush, ...drag } = useDragging(moving);
  return {
    view,
    whole: isWhole(view, extent),
    brush,
    zoomBy,
    reset,
    pointer: { ...drag, onDblClick: reset },
    onKeyDown: (event) => moveByKey(event, moving),
    askedAt,
  };
}

interface MovableView extends Pick<Navigation, "view" | "zoomBy" | "reset" | "askedAt"> {
  /** Moves by parts of the view. */
  panBy: (x: number, y: number) => void;
  /** Zooms to a part of the view. */
  show: (from: PlotPoint, to: PlotPoint) => void;
}

/** The view of the page's state, or the whole extent, with what changes it. */
function useMovableView(extent: Extent): MovableView {
  const { view: chosen } = usePageState("view");
  const change = useChangePage();
  const view = useMemo(
    () => inside(chosen ?? whole(extent), extent),
    [chosen, extent.width, extent.height],
  );
  const askedAt = useRef<number>();
  const setView = (next: (old: Viewport) => Viewport) => {
    askedAt.current ??= performance.now();
    // Views draw before the next frame. If none has drawn by then, the action changed nothing.
    requestAnimationFrame(() => (askedAt.current = undefined));
    change((state) => {
      const moved = next(inside(state.view ?? whole(extent), extent));
      return { view: isWhole(moved, extent) ? null : moved };
    });
  };
  const zoomBy = (factor: number, at: PlotPoint = CENTRE, axes: "x" | "y" = "x") =>
    setView((old) => {
      const point = {
        x: old.x0 + at.x * (old.x1 - old.x0),
        y: old.y0 + at.y * (old.y1 - old.y0),
      };
      const factors = { x: axes === "x" ? factor : 1, y: axes === "y" ? factor : 1 };
      return zoom(old, extent, factors, point);
    });
  const panBy = (x: number, y: number) =>
    setView((old) => pan(old, extent, { x: x * (old.x1 - old.x0), y: y * (old.y1 - old.y0) }));
  const show = (from: PlotPoint, to: PlotPoint) => setView((old) => select(old, extent, from, to));
  return { view, zoomBy, panBy, show, reset: () => setView(() => whole(extent)), askedAt };
}

/** A drag selects a part of the view; with Shift, it moves the view. */
function useDragging({ panBy, show }: MovableView) {
  const [brush, setBrush] = useState<Brush>();
  const panning = useRef<PlotPoint>();
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const at = pointIn(event);
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    if (event.shiftKey) panning.current = at;
    else setBrush({ from: at, to: at });
  };
  const onPointerMove = (event: PointerEvent) => {
    const at = pointIn(event);
    if (panning.current) {
      panBy(panning.current.x - at.x, isOfPagesOnly(event) ? 0 : panning.current.y - at.y);
      panning.current = at;
    } else if (brush) {
      setBrush({ from: brush.from, to: at });
    }
  };
  const onPointerUp = (event: PointerEvent) => {
    panning.current = undefined;
    if (!brush) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const to = pointIn(event);
    const across = Math.abs(to.x - brush.from.x) * box.width;
    const down = isOfPagesOnly(event) ? 0 : Math.abs(to.y - brush.from.y) * box.height;
    setBrush(undefined);
    if (across < CLICK && down < CLICK) return;
    // A flat or narrow drag means one axis only.
    const from = { x: across < CLICK ? 0 : brush.from.x, y: down < CLICK ? 0 : brush.from.y };
    const end = { x: across < CLICK ? 1 : to.x, y: down < CLICK ? 1 : to.y };
    show(from, end);
  };
  return { brush, onPointerDown, onPointerMove, onPointerUp };
}

/** Whether the plot has no axis of threads. */
function isOfPagesOnly(event: PointerEvent): boolean {
  return (event.currentTarget as HTMLElement).dataset.axis === "x";
}

function moveByKey(event: KeyboardEvent, { zoomBy, panBy, reset }: MovableView): void {
  const actions: Record<string, () => void> = {
    "+": () => zoomBy(1 / STEP),
    "=": () => zoomBy(1 / STEP),
    "-": () => zoomBy(STEP),
    "[": () => zoomBy(STEP, CENTRE, "y"),
    "]": () => zoomBy(1 / STEP, CENTRE, "y"),
    "0": reset,
    Home: reset,
    Escape: reset,
    ArrowLeft: () => panBy(-0.2, 0),
    ArrowRight: () => panBy(0.2, 0),
    ArrowUp: () => panBy(0, -0.2),
    ArrowDown: () => panBy(0, 0.2),
  };
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
}

export function pointIn(event: MouseEvent): PlotPoint {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const inside = (value: number) => Math.max(0, Math.min(1, value));
  return {
    x: inside((event.clientX - box.left) / box.width),
    y: inside((event.clientY - box.top) / box.height),
  };
}

/** The wheel zooms once the figure has the focus or with Ctrl; otherwise it scrolls the page. */
function useWheel(
  root: RefObject<HTMLElement>,
  zoomBy: (factor: number, at: PlotPoint, axes: "x" | "y") => void,
): void {
  const latest = useRef(zoomBy);
  latest.current = zoomBy;
  useEffect(() => {
    const element = root.current;
    if (!element) return;
    const onWheel = (event: WheelEvent) => {
      const plot = (event.target as HTMLElement).closest<HTMLElement>(".plot");
      const focused = element.contains(document.activeElement);
      if (!plot || !(focused || event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const box = plot.getBoundingClientRect();
      const at = {
        x: (event.clientX - box.left) / box.width,
        y: (event.clientY - box.top) / box.height,
      };
      const distance = event.deltaY || event.deltaX;
      latest.current(Math.exp(distance * 0.002), at, event.shiftKey ? "y" : "x");
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);
}
