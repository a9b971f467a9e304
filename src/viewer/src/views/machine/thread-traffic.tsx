// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../../data/report";
import { wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { countsOf } from "../../model/phase-counts";
import { remoteShare, threadSplit, total } from "../../model/traffic";
import { SplitBar } from "../structures/split-bar";
import { Wide } from "../elements/wide";

interface Props {
  report: Report;
  phases: readonly number[];
}

/** Every thread's accesses in the chosen phases, the thread with the largest remote share first. */
export function ThreadTraffic({ report, phases }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <details
      class="thread-traffic not-saved"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>Local and remote, thread by thread</summary>
      {open && <Table report={report} phases={phases} />}
    </details>
  );
}

function Table({ report, phases }: Props) {
  const { all } = wordsOf(report.run);
  const rows = useMemo(() => {
    const { threadAccesses } = countsOf(report, phases);
    return report.threads
      .map((thread, row) => ({
        thread,
        split: threadSplit(report, row, phases, threadAccesses[row]!),
      }))
      .sort((a, b) => remoteShare(b.split) - remoteShare(a.split));
  }, [report, phases]);
  return (
    <Wide label="Traffic by thread">
      <table>
        <thead>
          <tr>
            <th scope="col">Thread</th>
            <th scope="col">Ran on nodes</th>
            <th scope="col" class="number">
              {all[0]!.toUpperCase() + all.slice(1)}
            </th>
            <th scope="col" class="number">
              Remote
            </th>
            <th scope="col">Local, remote, unknown</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ thread: { thread, name, nodes }, split }) => (
            <tr key={thread}>
              <th scope="row">
                {thread} <bdi class="origin">{name}</bdi>
              </th>
              <td>{nodes.length ? show.ranges(nodes) : "unknown"}</td>
              <td class="number">{show.short(total(split))}</td>
              <td class="number">{show.share(remoteShare(split))}</td>
              <td class="split-cell">
                <SplitBar split={split} label={`Thread ${thread}`} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
