// SPDX-License-Identifier: Apache-2.0
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Comparison } from "../../data/comparison";
import type { Extents } from "../../model/page-state";
import { sideInAddress } from "../../model/page-state";
import { ReportApp } from "../report/report-app";
import { PageStateProvider } from "../page/page-state";
import { ComparisonPage } from "./comparison-page";

/** The page of both runs, or the report of the one that the address names. */
export function ComparisonApp({ comparison }: { comparison: Comparison }) {
  const side = useSide();
  const extents = useMemo(() => extentsOf(comparison), [comparison]);
  useEffect(() => window.scrollTo(0, 0), [side]);
  if (side) return <ReportApp report={comparison.reports[side === "a" ? 0 : 1]} key={side} />;
  return (
    <PageStateProvider extents={extents} key="both">
      <ComparisonPage comparison={comparison} />
    </PageStateProvider>
  );
}

function extentsOf({ structures, reports }: Comparison): Extents {
  return {
    structures: structures.map((_, structure) => ({ structure })),
    // Threads and phases are those of two runs: none of them can be chosen.
    threads: 0,
    phases: 0,
    lines: reports.every((report) => report.memory_lines !== undefined),
  };
}

/** The run in the address; follows links and the Back button. */
function useSide() {
  const read = () => sideInAddress(location.hash);
  const [side, setSide] = useState(read);
  useEffect(() => {
    const follow = () => setSide(read());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return side;
}
