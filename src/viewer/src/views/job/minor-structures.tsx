// SPDX-License-Identifier: Apache-2.0
import type { Job } from "../../data/job";
import * as show from "../../model/format";
import { majorStructures } from "../../model/rank-map";
import { MinorSwitch } from "../elements/minor-switch";
import { useChangePage, usePageState } from "../page/page-state";

/** Shows the structures that are hidden, because they have few accesses. */
export function MinorStructures({ job }: { job: Job }) {
  const { table } = usePageState("table");
  const change = useChangePage();
  const minor = job.structures.length - majorStructures(job).length;
  if (minor === 0) return null;
  return (
    <MinorSwitch
      checked={table.minor}
      onChecked={(checked) => change({ table: { ...table, minor: checked } })}
    >
      {show.count(minor)} minor structures, each below {show.percent(0.01)} of the accesses
    </MinorSwitch>
  );
}
