// SPDX-License-Identifier: Apache-2.0
import type { Report } from "../../data/report";
import { machineNames } from "../../model/machine-choice";
import { useChangePage, usePageState } from "../page/page-state";

/** The machine of gains, traffic and the verdict; nothing where there is no choice. */
export function MachineChoice({ report }: { report: Report }) {
  const { machine } = usePageState("machine");
  const change = useChangePage();
  if (!report.elsewhere?.length) return null;
  return (
    <section class="machine-choice" aria-label="The machine">
      <label>
        Machine
        <select
          value={String(machine)}
          onChange={(event) => change({ machine: Number(event.currentTarget.value) })}
        >
          {machineNames(report).map((name, i) => (
            <option key={i} value={String(i)}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <p class="prose">
        Gains, traffic between nodes, and the verdict are those of this machine. What each thread
        does to each page was recorded, and does not change.
      </p>
    </section>
  );
}
