// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** An element's width in CSS pixels, which the view follows. */
export function useWidth<E extends HTMLElement>(): [RefObject<E>, number] {
  const element = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const follow = () => setWidth(element.current!.clientWidth);
    follow();
    const sizes = new ResizeObserver(follow);
    sizes.observe(element.current!);
    // Observers of sizes are not called with the width of the paper.
    const paper = window.matchMedia("print");
    paper.addEventListener("change", follow);
    return () => {
      sizes.disconnect();
      paper.removeEventListener("change", follow);
    };
  }, []);
  return [element, width];
}
