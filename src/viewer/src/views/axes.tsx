// SPDX-License-Identifier: Apache-2.0
import { scaleLinear } from "d3-scale";
import type { Thread } from "../data/report";
import * as show from "../model/format";
import type { Viewport } from "../model/viewport";

interface PageAxisProps {
  view: Viewport;
  pageSize: number;
  /** Width in pixels, for the number of ticks. */
  width: number;
}

/** Page numbers, with the offset in bytes below. */
export function PageAxis({ view, pageSize, width }: PageAxisProps) {
  const scale = scaleLinear([view.x0, view.x1], [0, 100]);
  const ticks = scale.ticks(Math.max(2, width / 130)).filter(Number.isInteger);
  return (
    <div class="page-axis" aria-hidden="true">
      {ticks.map((page) => (
        <span key={page} style={{ left: `${scale(page)}%` }} class={edge(scale(page))}>
          {show.count(page)}
          <small>{show.bytes(page * pageSize)}</small>
        </span>
      ))}
    </div>
  );
}

function edge(percent: number): string {
  if (percent < 2) return "first";
  return percent > 97 ? "last" : "";
}

interface ThreadAxisProps {
  view: Viewport;
  threads: Thread[];
  height: number;
}

export function ThreadAxis({ view, threads, height }: ThreadAxisProps) {
  const rows = view.y1 - view.y0;
  const scale = scaleLinear([view.y0, view.y1], [0, 100]);
  const all = rows * 13 <= height;
  const ticks = all
    ? Array.from({ length: Math.ceil(rows) }, (_, i) => Math.floor(view.y0) + i)
    : scale.ticks(Math.max(2, height / 34)).filter(Number.isInteger);
  return (
    <div class="thread-axis" aria-hidden="true">
      {ticks.map((row) => {
        const at = scale(row + 0.5);
        if (at < 0 || at > 100 || !threads[row]) return null;
        return (
          <span key={row} style={{ top: `${at}%` }}>
            {threads[row]!.thread}
          </span>
        );
      })}
    </div>
  );
}
