// SPDX-License-Identifier: Apache-2.0
import type { LiveProcess } from "../../data/processes";
import { liveThreadTable, nodeName } from "../../model/live-memory";
import { TableSection } from "../page/table-section";

/** Shows where the threads ran last, and where they may run. */
export function LiveThreads({ process }: { process: LiveProcess }) {
  const { threads, more_threads: more } = process;
  return (
    <TableSection
      id="live-threads"
      title="Threads"
      csv={() => liveThreadTable(process)}
      scrollClass="thread-list"
      table={
        <table class="job-table" aria-labelledby="live-threads">
          <thead>
            <tr>
              <th scope="col">Thread</th>
              <th scope="col" class="number">
                Number
              </th>
              <th scope="col" class="number">
                Last CPU
              </th>
              <th scope="col">Node</th>
              <th scope="col">May use CPUs</th>
            </tr>
          </thead>
          <tbody>
            {threads.map(({ tid, name, cpu, node, allowed }) => (
              <tr key={tid}>
                <th scope="row">
                  <bdi class="name">{name}</bdi>
                </th>
                <td class="number">{tid}</td>
                <td class="number">{cpu}</td>
                <td>{nodeName(node)}</td>
                <td>{allowed}</td>
              </tr>
            ))}
          </tbody>
        </table>
      }
    >
      {more > 0 && <p class="how">{more} more threads are not in this page.</p>}
    </TableSection>
  );
}
