// SPDX-License-Identifier: Apache-2.0
import type { Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import * as show from "../../model/format";

/** Maximum number of nodes whose numbers are also written. */
export const MAX_WRITTEN_NODES = 4;

export interface NodeShare {
  /** Position of the node; the one after the last stands for unknown. */
  node: number;
  name: string;
  share: number;
}

interface Props {
  parts: NodeShare[];
  /** The number of nodes that have a colour. */
  nodes: number;
  theme: Theme;
}

interface ColouredProps extends Omit<Props, "parts"> {
  parts: readonly Omit<NodeShare, "name">[];
  title: string;
}

/** The shares of nodes as a bar, which is as long as their sum. */
export function ColouredShares({ parts, nodes, title, theme }: ColouredProps) {
  return (
    <span class="node-bar" title={title} aria-hidden="true">
      {parts.map(({ node, share }) => (
        <span
          key={node}
          style={{ width: `${100 * share}%`, background: nodeColour(node, nodes, theme) }}
        />
      ))}
    </span>
  );
}

/** The shares of nodes as a bar, and the first ones as text below it. */
export function NodeBar({ parts, nodes, theme }: Props) {
  const told = parts.map(({ name, share }) => `${name}: ${show.percent(share)}`);
  // A line is broken between nodes only.
  const most = told
    .slice(0, MAX_WRITTEN_NODES)
    .join(", ")
    .replaceAll(": ", ":\u00a0")
    .replaceAll("node ", "node\u00a0");
  return (
    <>
      <ColouredShares parts={parts} nodes={nodes} title={told.join(", ")} theme={theme} />
      <span class="origin">
        {parts.length > MAX_WRITTEN_NODES ? `${parts.length} nodes: ${most} …` : most}
      </span>
    </>
  );
}
