// SPDX-License-Identifier: Apache-2.0
import type { LiveProcess } from "../../data/processes";
import { liveThreadTable, nodeName } from "../../model/live-memory";
import { SaveMenu } from "../page/save-menu";

/** Where the threads ran last, and where they may run. */
export function LiveThreads({ process }: { process: LiveProcess }) {
  const { threads, more_threads: more } = process;
  return (
    <section aria-labelledby="live-threads">
      <div class="heading">
        <h2 id="live-threads">Threads</h2>
        <SaveMenu title="Threads" table={() => liveThreadTable(process)} picture={false} />
      </div>
      <div class="scroll thread-list" tabIndex={0} role="group" aria-label="Threads">
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
      </div>
      {more > 0 && <p class="how">{more} more threads are not in this page.</p>}
    </section>
  );
}
