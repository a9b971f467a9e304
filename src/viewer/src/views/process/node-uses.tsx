// SPDX-License-Identifier: Apache-2.0
import type { LiveMemory, NodeUse } from "../../data/processes";
import type { Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import * as show from "../../model/format";
import { knownNodes, nodeName, nodeTable, sharedBytes } from "../../model/live-memory";
import { TableSection } from "../page/table-section";

interface Props {
  memory: LiveMemory;
  pid: number | null;
  name: string;
  theme: Theme;
}

/** The part of the memory and the threads on each node. */
export function NodeUses({ memory, pid, name, theme }: Props) {
  const known = knownNodes(memory);
  const withShared = sharedBytes(memory) > 0;
  const shared = withShared ? ["Of these, shared"] : [];
  const numbers = ["Anonymous", "Files", ...shared, "In huge pages", "Threads", "Bound here"];
  return (
    <TableSection
      id="node-uses"
      title="Nodes"
      csv={() => nodeTable([{ pid, name, nodes: memory.nodes }])}
      table={
        <table class="job-table" aria-labelledby="node-uses">
          <thead>
            <tr>
              <th scope="col">Node</th>
              {numbers.map((title) => (
                <th key={title} scope="col" class="number">
                  {title}
                </th>
              ))}
              <th scope="col">CPUs</th>
            </tr>
          </thead>
          <tbody>
            {memory.nodes.map((use, i) => (
              <Row
                key={use.node}
                use={use}
                colour={nodeColour(i, known, theme)}
                withShared={withShared}
              />
            ))}
          </tbody>
        </table>
      }
    >
      <p class="how">
        Anonymous memory belongs to no file: heap, stacks, written data. Threads are on the node of
        the CPU on which they ran last. Bound here: threads that may run on CPUs of this node only.
        {withShared && " Shared: several of these processes map this memory."}
      </p>
    </TableSection>
  );
}

interface RowProps {
  use: NodeUse;
  colour: string;
  withShared: boolean;
}

function Row({ use, colour, withShared }: RowProps) {
  return (
    <tr>
      <th scope="row">
        <span class="node-mark" style={{ background: colour }} aria-hidden="true" />{" "}
        {nodeName(use.node)}
      </th>
      <td class="number">{show.bytes(use.anonymous)}</td>
      <td class="number">{show.bytes(use.files)}</td>
      {withShared && <td class="number">{show.bytes(use.shared)}</td>}
      <td class="number">{use.huge === null ? "?" : show.bytes(use.huge)}</td>
      <td class="number">{use.threads}</td>
      <td class="number">{use.bound}</td>
      <td>{use.cpus || "none"}</td>
    </tr>
  );
}
