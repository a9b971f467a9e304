// SPDX-License-Identifier: Apache-2.0
import type { Job } from "../../data/job";
import { useTheme } from "../page/theme";
import { ClassTable } from "./class-table";
import { JobFindings } from "./job-findings";
import { JobFacts, JobHeader } from "./job-header";
import { JobStructures } from "./job-structures";
import { PlaceTable } from "./place-table";
import { RankMapPanel } from "./rank-map-panel";
import { SharedTable } from "./shared-table";

export function JobPage({ job }: { job: Job }) {
  const theme = useTheme();
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
        <RankMapPanel job={job} theme={theme} />
        <JobStructures job={job} />
        {job.shared.length > 0 && <SharedTable job={job} />}
        <PlaceTable job={job} />
      </main>
      <footer>
        Written by Numascape {job.about.version}. This page loads nothing from other places.
      </footer>
    </div>
  );
}
