// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Comparison } from "../../data/comparison";
import type { Report } from "../../data/report";
import { changeRows } from "../../model/changes";
import { reportInLines } from "../../model/memory-lines";
import { positionOf } from "../../model/page-state";
import { CountSwitch } from "../figures/count-choice";
import { FIGURE_HELP_TITLE, PAIR_HELP } from "../figures/figure-help";
import { Foot } from "../page/foot";
import { useChangePage, usePageState } from "../page/page-state";
import { useTheme } from "../page/theme";
import { ChangeTable } from "./change-table";
import { ComparisonHeader, RunMeasures } from "./comparison-header";
import { ComparisonFindings } from "./comparison-findings";
import { PairFigures } from "./pair-figures";

const HELP = [
  { keys: true, entries: [["↑  ↓", "in the table: the structure above or below"]] },
  ...PAIR_HELP,
] as const;

export function ComparisonPage({ comparison }: { comparison: Comparison }) {
  const theme = useTheme();
  const change = useChangePage();
  const state = usePageState("structure", "instance", "table", "changes", "count");
  const reports = useCounted(comparison, state.count);
  const { structures } = comparison;
  const { table, changes } = state;
  const rows = useMemo(
    () => changeRows(structures, { search: table.search, minor: table.minor, order: changes }),
    [structures, table.search, table.minor, changes],
  );
  const numbers = useMemo(() => structures.map((_, structure) => ({ structure })), [structures]);
  const selected = positionOf(state, numbers);
  const select = (structure: number) => change({ structure });
  const open = (structure: number) => {
    select(structure);
    document.getElementById("structure")?.scrollIntoView({ block: "start" });
  };
  return (
    <div class="comparison">
      <a class="skip" href="#structure">
        Skip to the figures
      </a>
      <ComparisonHeader comparison={comparison} />
      <main>
        <RunMeasures comparison={comparison} />
        <ComparisonFindings comparison={comparison} onOpen={open} />
        {comparison.reports.every((report) => report.memory_lines) && (
          <section class="count-choice" aria-label="What the figures count">
            <CountSwitch report={comparison.reports[0]} />
            <p class="prose">The table always counts accesses.</p>
          </section>
        )}
        <ChangeTable
          comparison={comparison}
          reports={reports}
          rows={rows}
          selected={selected}
          onSelect={select}
          theme={theme}
        />
        {structures[selected] && (
          <PairFigures
            key={selected}
            comparison={comparison}
            reports={reports}
            structure={structures[selected]}
            theme={theme}
          />
        )}
        <Folded reports={reports} leftOut={comparison.left_out} />
      </main>
      <Foot title={FIGURE_HELP_TITLE} help={HELP} />
    </div>
  );
}

/** The reports, in memory lines if the reader chose these and both reports have them. */
function useCounted({ reports }: Comparison, count: string): [Report, Report] {
  return useMemo(() => {
    const [a, b] = reports;
    const lines = count === "lines" && a.memory_lines && b.memory_lines;
    return lines ? [reportInLines(a), reportInLines(b)] : [a, b];
  }, [reports, count]);
}

/** Sentences about what the page shows only as sums, or not at all. */
function Folded({ reports, leftOut }: { reports: [Report, Report]; leftOut: number }) {
  const sentences = reports.flatMap(({ folded }, side) =>
    folded.map((sentence) => `${side === 0 ? "A" : "B"}: ${sentence}`),
  );
  if (leftOut > 0) sentences.push(`${leftOut} structures with few accesses are not listed.`);
  if (sentences.length === 0) return null;
  return (
    <section aria-labelledby="folded">
      <h2 id="folded">What this page shows only as sums</h2>
      <ul class="prose folded">
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </section>
  );
}
