// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Job } from "../../data/job";
import { majorStructures, withStructures } from "../../model/rank-map";
import { Foot } from "../page/foot";
import { usePageState } from "../page/page-state";
import { useTheme } from "../page/theme";
import { ClassTable } from "./class-table";
import { JobFindings } from "./job-findings";
import { JobFacts, JobHeader } from "./job-header";
import { JobStructures } from "./job-structures";
import { PlaceTable } from "./place-table";
import { RankMapPanel } from "./rank-map-panel";
import { SharedTable } from "./shared-table";

const HELP = [
  {
    keys: true,
    entries: [
      ["← →  ↑ ↓", "in the map: the next rank, the next structure"],
      ["PageUp  PageDown", "in the map: a twentieth of the ranks back or on"],
      ["Home  End", "in the map: the first, the last rank"],
      ["Enter", "in the map: the page of the rank"],
    ],
  },
] as const;

export function JobPage({ job }: { job: Job }) {
  const theme = useTheme();
  const { table } = usePageState("table");
  const shown = useMemo(
    () => (table.minor ? job : withStructures(job, majorStructures(job))),
    [job, table.minor],
  );
  return (
    <div class="job">
      <a class="skip" href="#rank-map">
        Skip to the ranks
      </a>
      <JobHeader job={job} />
      <main>
        <JobFindings job={job} />
        <JobFacts job={job} />
        <ClassTable job={job} />
        <RankMapPanel whole={job} job={shown} theme={theme} />
        <JobStructures whole={job} job={shown} />
        {job.shared.length > 0 && <SharedTable job={job} />}
        <PlaceTable job={job} />
      </main>
      <Foot help={HELP} />
    </div>
  );
}
