// SPDX-License-Identifier: Apache-2.0
// Bars of cores' loads: a bar for the chosen mapping, a step line for the present one.

import { hcl } from "d3-color";
import type { Theme } from "../model/page-state";
import type { Surface } from "./surface";

export interface Loads {
  before: readonly number[];
  after: readonly number[];
  /** The end of the axis. */
  top: number;
}

const AFTER: Record<Theme, string> = {
  light: hcl(256, 45, 60).formatHex(),
  dark: hcl(256, 45, 60).formatHex(),
  grey: hcl(0, 0, 72).formatHex(),
};
const LINE: Record<Theme, string> = { light: "#15191e", dark: "#e7eaee", grey: "#111111" };

export function loadColour(theme: Theme): string {
  return AFTER[theme];
}

export function drawLoads(surface: Surface, { before, after, top }: Loads, theme: Theme): void {
  const { context, width, height, ratio } = surface;
  const bars = after.length;
  const y = (value: number) => height * (1 - value / top);
  const edge = (bar: number) => Math.round((bar * width) / bars);
  const gap = width / bars > 5 * ratio ? ratio : 0;
  context.fillStyle = AFTER[theme];
  for (let i = 0; i < bars; i++) {
    context.fillRect(edge(i) + gap, y(after[i]!), edge(i + 1) - edge(i) - 2 * gap, height);
  }
  context.strokeStyle = LINE[theme];
  context.lineWidth = 1.5 * ratio;
  context.beginPath();
  for (let i = 0; i < bars; i++) {
    context.lineTo(edge(i), y(before[i]!));
    context.lineTo(edge(i + 1), y(before[i]!));
  }
  context.stroke();
  context.lineWidth = ratio;
  context.setLineDash([4 * ratio, 4 * ratio]);
  context.beginPath();
  context.moveTo(0, y(1));
  context.lineTo(width, y(1));
  context.stroke();
  context.setLineDash([]);
}
