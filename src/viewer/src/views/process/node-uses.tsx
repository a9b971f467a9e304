// SPDX-License-Identifier: Apache-2.0
import type { LiveProcess, NodeUse } from "../../data/processes";
import type { Theme } from "../../model/page-state";
import { nodeColour } from "../../draw/node-colour";
import * as show from "../../model/format";
import { knownNodes, nodeName, processTable } from "../../model/live-memory";
import { TableSection } from "../page/table-section";

interface Props {
  process: LiveProcess;
  theme: Theme;
}

const NUMBERS = ["Anonymous", "Files", "In huge pages", "Threads", "Bound here"];

/** The part of the process on each node. */
export function NodeUses({ process, theme }: Props) {
  const known = knownNodes(process);
  return (
    <TableSection
      id="node-uses"
      title="Nodes"
      csv={() => processTable([process])}
      table={
        <table class="job-table" aria-labelledby="node-uses">
          <thead>
            <tr>
              <th scope="col">Node</th>
              {NUMBERS.map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              <th scope="col">CPUs</th>
            </tr>
          </thead>
          <tbody>
            {process.nodes.map((use, i) => (
              <Row key={use.node} use={use} colour={nodeColour(i, known, theme)} />
            ))}
          </tbody>
        </table>
      }
    >
      <p class="how">
        Anonymous memory belongs to no file: heap, stacks, written data. Threads are on the node of
        the CPU on which they ran last. Bound here: threads that may run on CPUs of this node only.
      </p>
    </TableSection>
  );
}

function Row({ use, colour }: { use: NodeUse; colour: string }) {
  return (
    <tr>
      <th scope="row">
        <span class="node-mark" style={{ background: colour }} aria-hidden="true" />{" "}
        {nodeName(use.node)}
      </th>
      <td class="number">{show.bytes(use.anonymous)}</td>
      <td class="number">{show.bytes(use.files)}</td>
      <td class="number">{use.huge === null ? "?" : show.bytes(use.huge)}</td>
      <td class="number">{use.threads}</td>
      <td class="number">{use.bound}</td>
      <td>{use.cpus || "none"}</td>
    </tr>
  );
}
