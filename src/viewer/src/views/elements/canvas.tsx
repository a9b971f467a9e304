// SPDX-License-Identifier: Apache-2.0
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { surfaceOf } from "../../draw/surface";
import type { Surface } from "../../draw/surface";
import { keepDrawing } from "../../saving/drawings";

interface Props extends Omit<JSX.IntrinsicElements["canvas"], "ref"> {
  draw: (surface: Surface) => void;
  /** Draw again when one of these changes, and when the size does. */
  inputs: readonly unknown[];
  /** Draw only once the canvas has come near the visible part of the page, or is printed. */
  lazy?: boolean;
}

const NEAR = { rootMargin: "600px" };

export function Canvas({ draw, inputs, lazy = false, ...attributes }: Props) {
  const element = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  const visible = useRef(!lazy);
  latest.current = draw;
  const redraw = () => {
    const surface = element.current && visible.current ? surfaceOf(element.current) : undefined;
    if (surface) latest.current(surface);
  };
  useLayoutEffect(redraw, inputs);
  useEffect(() => {
    const canvas = element.current!;
    keepDrawing(canvas, (surface) => latest.current(surface));
    const sizes = new ResizeObserver(redraw);
    sizes.observe(canvas);
    const views = new IntersectionObserver((entries) => {
      if (visible.current || !entries.some((entry) => entry.isIntersecting)) return;
      visible.current = true;
      redraw();
    }, NEAR);
    const print = () => {
      visible.current = true;
      redraw();
    };
    if (lazy) {
      views.observe(canvas);
      window.addEventListener("beforeprint", print);
    }
    return () => {
      window.removeEventListener("beforeprint", print);
      sizes.disconnect();
      views.disconnect();
    };
  }, []);
  return <canvas ref={element} {...attributes} />;
}
