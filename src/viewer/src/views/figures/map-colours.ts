// SPDX-License-Identifier: Apache-2.0
import type { Theme } from "../../model/page-state";

/** Bars beside the maps, and bars that end at the border. */
export const MAP_COLOURS: Record<Theme, { bars: readonly [string, string] }> = {
  light: { bars: ["#a9b8c8", "#b5540a"] },
  dark: { bars: ["#536475", "#f0a35a"] },
  grey: { bars: ["#b0b0b0", "#1c1c1c"] },
};
