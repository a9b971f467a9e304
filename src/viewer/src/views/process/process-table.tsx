// SPDX-License-Identifier: Apache-2.0
import type { LiveMemory, LiveProcess } from "../../data/processes";
import type { Theme } from "../../model/page-state";
import * as show from "../../model/format";
import {
  bytesOfNodes,
  knownNodes,
  nodeShares,
  processTable,
  sharedBytes,
  threadsOf,
  TOGETHER,
} from "../../model/live-memory";
import { NodeBar } from "../elements/node-bar";
import { selectByKey } from "../elements/row-keys";
import { SaveMenu } from "../page/save-menu";
import { Wide } from "../elements/wide";

interface Props {
  processes: LiveProcess[];
  together: LiveMemory;
  /** A position among the processes; the one after the last: all together. */
  selected: number;
  onSelect: (position: number) => void;
  theme: Theme;
}

/** The memory of all processes and of each of them by node; the chosen one is shown below. */
export function ProcessTable({ processes, together, selected, onSelect, theme }: Props) {
  const positions = [processes.length, ...processes.map((_, i) => i)];
  return (
    <section aria-labelledby="processes">
      <div class="heading">
        <h2 id="processes">Processes</h2>
        <SaveMenu
          title="Processes"
          table={() => processTable(processes, together)}
          picture={false}
        />
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
                Of this, shared
              </th>
              <th scope="col" class="number">
                Threads
              </th>
              <th scope="col">By node</th>
            </tr>
          </thead>
          <tbody>
            {positions.map((position) => (
              <Row
                key={position}
                memory={processes[position] ?? together}
                name={processes[position]?.name ?? TOGETHER}
                pid={processes[position]?.pid}
                position={position}
                chosen={position === selected}
                onSelect={onSelect}
                theme={theme}
              />
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="how">
        Shared: files and shared memory that several of these processes map. They count for each of
        them, and once for all together.
      </p>
    </section>
  );
}

interface RowProps {
  memory: LiveMemory;
  name: string;
  pid: number | undefined;
  position: number;
  chosen: boolean;
  onSelect: (position: number) => void;
  theme: Theme;
}

function Row({ memory, name, pid, position, chosen, onSelect, theme }: RowProps) {
  const bytes = bytesOfNodes(memory);
  return (
    <tr aria-selected={chosen} data-position={position} onClick={() => onSelect(position)}>
      <th scope="row">
        <button type="button" class="name" title={name} aria-pressed={chosen}>
          <bdi>{name}</bdi>
        </button>
      </th>
      <td class="number">{pid}</td>
      <td class="number">{show.bytes(bytes.reduce((sum, one) => sum + one, 0))}</td>
      <td class="number">{show.bytes(sharedBytes(memory))}</td>
      <td class="number">{threadsOf(memory)}</td>
      <td>
        <NodeBar parts={nodeShares(memory, bytes)} nodes={knownNodes(memory)} theme={theme} />
      </td>
    </tr>
  );
}
