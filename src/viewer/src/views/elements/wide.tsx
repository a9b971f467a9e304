// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  /** The class of the element that scrolls. */
  class?: string;
  /** Its name; absent: what it has can be reached with keys anyway. */
  label?: string;
  children: ComponentChildren;
}

/** Holds what may be wider than the page. A shadow at an edge shows that more is behind it. */
export function Wide({ class: name = "scroll", label, children }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const mark = () => {
    const { scrollLeft, scrollWidth, clientWidth } = inner.current!;
    // Zoomed pages have fractions of pixels.
    frame.current!.classList.toggle("more-left", scrollLeft > 1);
    frame.current!.classList.toggle("more-right", scrollWidth - clientWidth - scrollLeft > 1);
  };
  useEffect(() => {
    const sizes = new ResizeObserver(mark);
    [inner.current!, ...inner.current!.children].forEach((element) => sizes.observe(element));
    return () => sizes.disconnect();
  }, []);
  const named = label === undefined ? {} : { role: "group" as const, "aria-label": label };
  return (
    <div class="wide-frame" ref={frame}>
      <div
        class={name}
        ref={inner}
        tabIndex={label === undefined ? -1 : 0}
        onScroll={mark}
        {...named}
      >
        {children}
      </div>
    </div>
  );
}
