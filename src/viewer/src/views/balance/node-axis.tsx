// SPDX-License-Identifier: Apache-2.0
import type { NodeSpan } from "../../model/mappings";
import { useWidth } from "../page/use-width";

/** Pixels that a name needs. */
const WIDE = 48;
const NARROW = 18;

/** Below a plot with a column for each core: which cores belong to which node. */
export function NodeAxis({ spans }: { spans: readonly NodeSpan[] }) {
  const [element, width] = useWidth<HTMLDivElement>();
  const all = spans.at(-1)?.end ?? 1;
  return (
    <div class="node-axis" ref={element} aria-hidden="true">
      {spans.map(({ node, begin, end }) => {
        const pixels = ((end - begin) / all) * width;
        const style = { left: `${(100 * begin) / all}%`, width: `${(100 * (end - begin)) / all}%` };
        return (
          <span key={begin} style={style}>
            {pixels >= WIDE ? `node ${node}` : pixels >= NARROW ? node : ""}
          </span>
        );
      })}
    </div>
  );
}
