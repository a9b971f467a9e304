// SPDX-License-Identifier: Apache-2.0
import type { Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import * as show from "../../model/format";

/** Most nodes whose numbers are also written. */
const WRITTEN = 4;

export interface NodeShare {
  /** Position of the node; the one after the last stands for unknown. */
  node: number;
  name: string;
  share: number;
}

interface Props {
  parts: NodeShare[];
  /** How many nodes have a colour. */
  nodes: number;
  theme: Theme;
}

/** The shares of nodes as a bar, and the first ones as text below it. */
export function NodeBar({ parts, nodes, theme }: Props) {
  const told = parts.map(({ name, share }) => `${name}: ${show.percent(share)}`);
  // A line is broken between nodes only.
  const most = told
    .slice(0, WRITTEN)
    .join(", ")
    .replaceAll(": ", ":\u00a0")
    .replaceAll("node ", "node\u00a0");
  return (
    <>
      <span class="node-bar" title={told.join(", ")} aria-hidden="true">
        {parts.map(({ node, share }) => (
          <span
            key={node}
            style={{ width: `${100 * share}%`, background: nodeColour(node, nodes, theme) }}
          />
        ))}
      </span>
      <span class="origin">
        {parts.length > WRITTEN ? `${parts.length} nodes: ${most} …` : most}
      </span>
    </>
  );
}
