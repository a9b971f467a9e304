// SPDX-License-Identifier: Apache-2.0
import type { LiveProcess } from "../../data/processes";
import type { Theme } from "../../model/page-state";
import * as show from "../../model/format";
import { bytesOfNodes, knownNodes, nodeShares, processTable } from "../../model/live-memory";
import { NodeBar } from "../elements/node-bar";
import { selectByKey } from "../elements/row-keys";
import { SaveMenu } from "../page/save-menu";
import { Wide } from "../elements/wide";

interface Props {
  processes: LiveProcess[];
  selected: number;
  onSelect: (process: number) => void;
  theme: Theme;
}

/** The memory of each process by node; the chosen one is shown below. */
export function ProcessTable({ processes, selected, onSelect, theme }: Props) {
  const positions = processes.map((_, i) => i);
  return (
    <section aria-labelledby="processes">
      <div class="heading">
        <h2 id="processes">Processes</h2>
        <SaveMenu title="Processes" table={() => processTable(processes)} picture={false} />
      </div>
      <Wide>
        <table
          class="structures"
          aria-labelledby="processes"
          onKeyDown={(event) => selectByKey(event, positions, selected, onSelect)}
        >
          <thead>
            <tr>
              <th scope="col">Process</th>
              <th scope="col" class="number">
                Number
              </th>
              <th scope="col" class="number">
                In memory
              </th>
              <th scope="col" class="number">
                Threads
              </th>
              <th scope="col">By node</th>
            </tr>
          </thead>
          <tbody>
            {processes.map((process, i) => (
              <Row
                key={process.pid}
                process={process}
                position={i}
                chosen={i === selected}
                onSelect={onSelect}
                theme={theme}
              />
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="how">A page that several processes map counts for each of them.</p>
    </section>
  );
}

interface RowProps {
  process: LiveProcess;
  position: number;
  chosen: boolean;
  onSelect: (process: number) => void;
  theme: Theme;
}

function Row({ process, position, chosen, onSelect, theme }: RowProps) {
  const bytes = bytesOfNodes(process);
  return (
    <tr aria-selected={chosen} data-position={position} onClick={() => onSelect(position)}>
      <th scope="row">
        <button type="button" class="name" title={process.name} aria-pressed={chosen}>
          <bdi>{process.name}</bdi>
        </button>
      </th>
      <td class="number">{process.pid}</td>
      <td class="number">{show.bytes(bytes.reduce((sum, one) => sum + one, 0))}</td>
      <td class="number">{process.threads.length + process.more_threads}</td>
      <td>
        <NodeBar parts={nodeShares(process, bytes)} nodes={knownNodes(process)} theme={theme} />
      </td>
    </tr>
  );
}
