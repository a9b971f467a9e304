// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import type { Job } from "../../data/job";
import type { Report } from "../../data/report";
import { unpackReport } from "../../data/unpack";
import type { Extents } from "../../model/page-state";
import { rankInAddress } from "../../model/page-state";
import { ReportApp } from "../report/report-app";
import { PageStateProvider } from "../page/page-state";
import { JobPage } from "./job-page";

const NOTHING: Extents = { structures: [], threads: 0, phases: 0 };

/** The page of the job, or that of the rank that the address names. */
export function JobApp({ job }: { job: Job }) {
  const rank = useRank(job.own);
  const [report, setReport] = useState<{ rank: number; of: Report | Error }>();
  useEffect(() => {
    window.scrollTo(0, 0);
    if (rank === undefined) return;
    let wanted = true;
    void unpackReport(document.getElementById(`rank-${rank}`)?.textContent ?? "")
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
      .then((of) => wanted && setReport({ rank, of }));
    return () => void (wanted = false);
  }, [rank]);
  if (rank === undefined) {
    return (
      <PageStateProvider extents={NOTHING} key="job">
        <JobPage job={job} />
      </PageStateProvider>
    );
  }
  if (report?.rank !== rank) return <p class="starting">Unpacking rank {rank} …</p>;
  if (report.of instanceof Error) {
    return <p class="starting">This rank cannot be shown ({report.of.message}).</p>;
  }
  return <ReportApp report={report.of} key={rank} />;
}

/** The rank in the address, if its page is in the file; follows links and the Back button. */
function useRank(own: readonly number[]): number | undefined {
  const read = () => {
    const rank = rankInAddress(location.hash);
    return rank !== undefined && own.includes(rank) ? rank : undefined;
  };
  const [rank, setRank] = useState(read);
  useEffect(() => {
    const follow = () => setRank(read());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return rank;
}
