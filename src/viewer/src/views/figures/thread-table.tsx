// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { seesAccesses, wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { threadSums } from "../../model/matrix";
import type { FigureData } from "./figure-data";
import { threadTable } from "./figure-tables";
import { SaveMenu } from "../page/save-menu";
import { Wide } from "../elements/wide";

/** The exact numbers of the figures per thread, also for screen readers. */
export function ThreadTable({ data }: { data: FigureData }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="thread-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same as a table, by thread</summary>
      {open && (
        <>
          <SaveMenu
            title={`Threads of ${data.structure.name}`}
            picture={false}
            table={() => threadTable(data)}
          />
          <Table data={data} />
        </>
      )}
    </details>
  );
}

function Table({ data: { report, matrix, threads } }: { data: FigureData }) {
  const seen = seesAccesses(report.run);
  const { readsHeading, writesHeading } = wordsOf(report.run);
  const { reads, writes, firstTouched } = threadSums(matrix);
  const total = reads.reduce((sum, n) => sum + n, 0) + writes.reduce((sum, n) => sum + n, 0);
  return (
    <Wide label="Numbers by thread">
      <table>
        <thead>
          <tr>
            <th scope="col">Thread</th>
            {(seen ? [readsHeading, writesHeading, "Share"] : ["Share"]).map((heading) => (
              <th key={heading} scope="col" class="number">
                {heading}
              </th>
            ))}
            <th scope="col" class="number">
              Pages first touched
            </th>
            <th scope="col">Ran on CPUs</th>
            <th scope="col">Nodes</th>
          </tr>
        </thead>
        <tbody>
          {threads.map(({ thread, name, cpus, nodes }, row) => (
            <tr key={thread}>
              <th scope="row">
                {thread} <bdi class="origin">{name}</bdi>
              </th>
              {seen && <td class="number">{show.count(reads[row]!)}</td>}
              {seen && <td class="number">{show.count(writes[row]!)}</td>}
              <td class="number">
                {show.share((reads[row]! + writes[row]!) / Math.max(1, total))}
              </td>
              <td class="number">{show.count(firstTouched[row]!)}</td>
              <td>{cpus.length ? show.ranges(cpus) : "unknown"}</td>
              <td>{nodes.length ? show.ranges(nodes) : "unknown"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
