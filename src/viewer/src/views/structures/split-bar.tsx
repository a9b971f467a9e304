// SPDX-License-Identifier: Apache-2.0
import * as show from "../../model/format";
import type { Split } from "../../model/traffic";
import { total } from "../../model/traffic";

const KINDS = ["local", "remote", "unknown"] as const;

/** Local, remote and unknown accesses as one bar of full length. */
export function SplitBar({ split, label }: { split: Split; label: string }) {
  const all = total(split);
  const text = all === 0 ? "none" : KINDS.map((kind) => told(split, kind, all)).join(", ");
  return (
    <span class="split" role="img" aria-label={`${label}: ${text}`} title={text}>
      {KINDS.map((kind) => (
        <span
          key={kind}
          class={kind}
          style={{ width: `${(100 * split[kind]) / Math.max(1, all)}%` }}
        />
      ))}
    </span>
  );
}

function told(split: Split, kind: (typeof KINDS)[number], all: number): string {
  return `${show.share(split[kind] / all)} ${kind}`;
}

/** Names the colours, with the shares themselves when given. */
export function SplitLegend({ split }: { split?: Split }) {
  const all = split ? Math.max(1, total(split)) : 1;
  return (
    <ul class="split-legend">
      {KINDS.map((kind) => (
        <li key={kind}>
          <span class={`swatch ${kind}`} />
          {kind}
          {split && <b>{show.share(split[kind] / all)}</b>}
        </li>
      ))}
    </ul>
  );
}
