// SPDX-License-Identifier: Apache-2.0
import type { LiveMemory, LiveStructure } from "../../data/processes";
import type { Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import { drawPositions } from "../../draw/positions";
import { knownNodes, nodeName, stripText } from "../../model/live-memory";
import { Canvas } from "../elements/canvas";

interface Props {
  structure: LiveStructure;
  memory: LiveMemory;
  theme: Theme;
}

/** Where in a structure the pages of each node are. */
export function PositionStrip({ structure, memory, theme }: Props) {
  const nodes = knownNodes(memory);
  const text = `Sixteenths of ${structure.name}: ${stripText(structure)}`;
  return (
    <Canvas
      lazy
      role="img"
      aria-label={text}
      title={text}
      inputs={[structure, memory, theme]}
      draw={(surface) =>
        drawPositions(surface, structure.positions, (node) => nodeColour(node, nodes, theme))
      }
    />
  );
}

/** How to read the strips, with the colours of the nodes. */
export function PositionLegend({ memory, theme }: Omit<Props, "structure">) {
  const known = knownNodes(memory);
  return (
    <p class="how">
      By position: each strip shows a structure from its first address (left) to its last. Colours
      above each other: these nodes have parts of the same range. Empty: not in memory. The colours:{" "}
      {memory.nodes.map(({ node }, i) => (
        <span class="node-key" key={node}>
          <span class="swatch" style={{ background: nodeColour(i, known, theme) }} />{" "}
          {nodeName(node)}
        </span>
      ))}
    </p>
  );
}
