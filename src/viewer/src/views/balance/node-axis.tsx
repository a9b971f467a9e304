// SPDX-License-Identifier: Apache-2.0
import type { NodeSpan } from "../../model/mappings";
import { useWidth } from "../page/use-width";

/** Pixels that a name needs. */
const WIDE = 48;
const NARROW = 18;

/**
 * Shows below a plot with a column for each core which cores belong to which node. If the numbers
 * of all nodes do not fit, some nodes have no number.
 */
export function NodeAxis({ spans }: { spans: readonly NodeSpan[] }) {
  const [element, width] = useWidth<HTMLDivElement>();
  const all = spans.at(-1)?.end ?? 1;
  const pixelsOf = ({ begin, end }: NodeSpan) => ((end - begin) / all) * width;
  const narrowest = Math.max(1, Math.min(...spans.map(pixelsOf)));
  const step = Math.ceil(NARROW / narrowest);
  return (
    <div class="node-axis" ref={element} aria-hidden="true">
      {spans.map((span, i) => {
        const { node, begin, end } = span;
        const style = { left: `${(100 * begin) / all}%`, width: `${(100 * (end - begin)) / all}%` };
        return (
          <span key={begin} style={style}>
            {pixelsOf(span) >= WIDE ? `node ${node}` : i % step === 0 ? node : ""}
          </span>
        );
      })}
    </div>
  );
}
