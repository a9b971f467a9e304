// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";

/** Pixels that a tooltip may need. */
const WIDTH = 340;
const HEIGHT = 200;

interface Props {
  /** The pointer, on the screen. */
  at: { clientX: number; clientY: number };
  title: ComponentChildren;
  children: ComponentChildren;
}

/** A box beside the pointer, on the side where there is room. */
export function Tooltip({ at: { clientX, clientY }, title, children }: Props) {
  const x = clientX > window.innerWidth - WIDTH ? "calc(-100% - 14px)" : "14px";
  const y = clientY > window.innerHeight - HEIGHT ? "calc(-100% - 10px)" : "14px";
  const style = {
    left: `${clientX}px`,
    top: `${clientY}px`,
    transform: `translate(${x}, ${y})`,
  };
  return (
    <div class="tooltip" role="status" style={style}>
      <p class="title">{title}</p>
      {children}
    </div>
  );
}
