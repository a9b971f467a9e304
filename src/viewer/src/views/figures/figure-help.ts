// SPDX-License-Identifier: Apache-2.0
// What keys and the pointer do in the figures of a structure.

import type { HelpList } from "../page/foot";

/** Moving works in the figures of one run and of two runs. */
const MOVING: HelpList["entries"] = [
  ["+  −", "zoom pages in and out"],
  ["]  [", "zoom threads in and out"],
  ["← →  ↑ ↓", "move over pages, over threads"],
  ["0  Home", "show the whole structure"],
];

const POINTER: HelpList["entries"] = [
  [
    "Drag",
    "zoom to the selected part; a flat selection zooms pages only, a narrow one threads only",
  ],
  ["Shift and drag", "move"],
  ["Double-click", "show the whole structure"],
  ["Wheel", "zoom pages, with Shift threads; first click into the figures, or hold Ctrl"],
];

const SCALE: HelpList["entries"] = [["l", "linear or logarithmic colours"]];

/** The keys of the figures of one run. They work when the figures have the focus. */
export const FIGURE_HELP: readonly HelpList[] = [
  {
    keys: true,
    entries: [
      ...MOVING,
      ["a  b", "compare the threads now visible: as group A, as group B"],
      ["c", "stop comparing"],
      ["o", "next order of threads"],
      ["m", "next: accesses, reads, writes; for memory lines: both, from memory, to memory"],
      ["n", "memory lines or accesses, if both were counted"],
      ...SCALE,
    ],
  },
  {
    entries: [
      ...POINTER,
      ["Drag on thread numbers", "compare these threads (A); with Shift: with these (B)"],
    ],
  },
];

/** The keys of the figures of two runs. */
export const PAIR_HELP: readonly HelpList[] = [
  { keys: true, entries: [...MOVING, ["m", "next: accesses, reads, writes"], ...SCALE] },
  { entries: POINTER },
];

export const FIGURE_HELP_TITLE = "Keys and pointer in the figures";
