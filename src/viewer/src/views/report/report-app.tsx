// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Report } from "../../data/report";
import { knowsThreads, seesAccesses } from "../../model/counting";
import { matrixOf } from "../../model/matrix";
import { mostUsed, reportInLines } from "../../model/memory-lines";
import type { Extents, Theme } from "../../model/page-state";
import { picked } from "../../model/phase-selection";
import { CallPathsPanel } from "../call-paths/call-paths-panel";
import { CountChoice } from "../figures/count-choice";
import { MachineChoice } from "../machine/machine-choice";
import { MachinePanel } from "../machine/machine-panel";
import { PageStateProvider, useChangePage, usePageState } from "../page/page-state";
import { PhasesBar } from "../overview/phases-bar";
import { Principles } from "../overview/principles";
import { ReadWritePanel } from "../structures/read-write-panel";
import { RunFacts, RunHeader } from "../overview/run-header";
import { SharingPanel } from "../sharing/sharing-panel";
import { SourceLines } from "../source/source-lines";
import { StandingOut } from "../findings/standing-out";
import { StructureFigures } from "../figures/structure-figures";
import { TimePanel } from "../time/time-panel";
import { StructureTable } from "../structures/structure-table";
import { useTheme } from "../page/theme";
import { useShownReport } from "./use-shown-report";
import type { ShownReport } from "./use-shown-report";
import { FIGURE_HELP, FIGURE_HELP_TITLE } from "../figures/figure-help";
import { Foot } from "../page/foot";

const HELP = [
  { keys: true, entries: [["↑  ↓", "in the table of structures: the one above or below"]] },
  ...FIGURE_HELP,
] as const;

export function ReportApp({ report }: { report: Report }) {
  const extents = useMemo(() => extentsOf(report), [report]);
  return (
    <PageStateProvider extents={extents}>
      <Page report={report} />
    </PageStateProvider>
  );
}

function extentsOf(report: Report): Extents {
  const { structures, threads, phases, memory_lines: lines } = report;
  return {
    structures,
    threads: threads.length,
    phases: phases.length,
    machines: 1 + (report.elsewhere?.length ?? 0),
    lines: lines !== undefined,
    first: mostUsed(reportInLines(report)),
    // In the file of a job, the address says which rank is shown; in that of a comparison, which run.
    rank: report.run.job?.url.startsWith("#") ? report.run.job.rank : undefined,
    side: report.run.compared?.url.startsWith("#") ? report.run.compared.side : undefined,
  };
}

function Page({ report: written }: { report: Report }) {
  const theme = useTheme();
  const shown = useShownReport(written);
  const { recorded, report } = shown;
  const change = useChangePage();
  const select = (position: number) =>
    change({ structure: report.structures[position]!.structure, instance: -1 });
  const open = (position: number) => {
    select(position);
    document.getElementById("structure")?.scrollIntoView({ block: "start" });
  };
  const part = { shown, theme };
  return (
    <>
      <a class="skip" href="#structure">
        Skip to the figures
      </a>
      <RunHeader run={report.run} />
      <main>
        <MachineChoice report={written} />
        {report.findings.length > 0 && <StandingOut report={recorded} onOpen={open} />}
        <RunFacts report={recorded} />
        <CountChoice report={recorded} />
        <Overview {...part} />
        <Structures {...part} onSelect={select} />
        <ChosenStructure {...part} />
        <OverTime {...part} />
        <CallPathsPanel
          report={recorded}
          phases={shown.phases}
          selected={shown.whole}
          onSelect={select}
        />
        <ReadersAndWriters {...part} />
        <Principles folded={report.folded} />
      </main>
      <Foot title={FIGURE_HELP_TITLE} help={HELP} />
      <Phases {...part} />
    </>
  );
}

interface PartProps {
  shown: ShownReport;
  theme: Theme;
}

/** Machines with many nodes need the page's whole width. */
function overviewSize({ traffic }: Report): string {
  if (traffic.nodes.length < 2) return "one-node";
  return traffic.nodes.length > 6 ? "many-nodes" : "";
}

function Overview({ shown: { report, phases, order }, theme }: PartProps) {
  if (!seesAccesses(report.run) || !knowsThreads(report.run)) return null;
  return (
    <div class={`overview ${overviewSize(report)}`}>
      <MachinePanel report={report} phases={phases} theme={theme} />
      {report.threads.length > 1 && (
        <SharingPanel report={report} phases={phases} order={order} theme={theme} />
      )}
    </div>
  );
}

function Structures({
  shown,
  theme,
  onSelect,
}: PartProps & { onSelect: (position: number) => void }) {
  const { table, colourBy } = usePageState("table", "colourBy");
  const change = useChangePage();
  return (
    <StructureTable
      report={shown.report}
      matrix={shown.matrix}
      all={shown.all}
      listed={shown.listed}
      wanted={table}
      onWanted={(wanted) => change({ table: wanted })}
      colourBy={colourBy}
      onColourBy={(by) => change({ colourBy: by })}
      selected={shown.whole}
      onSelect={onSelect}
      theme={theme}
    />
  );
}

function ChosenStructure({ shown, theme }: PartProps) {
  const { recorded, report, phases, matrix, selected, whole } = shown;
  if (report.structures.length === 0) return null;
  return (
    <div class="structure-and-lines">
      <StructureFigures
        key={selected}
        report={report}
        position={selected}
        matrix={matrix(selected)}
        theme={theme}
      />
      {report.lines.place.length > 0 && (
        <SourceLines key={whole} report={recorded} position={whole} phases={phases} />
      )}
    </div>
  );
}

function OverTime({ shown: { recorded, whole }, theme }: PartProps) {
  const { phases } = usePageState("phases");
  const change = useChangePage();
  const known = recorded.phases.length;
  if (!seesAccesses(recorded.run) || known < 2) return null;
  return (
    <TimePanel
      report={recorded}
      selected={whole}
      selection={phases}
      onPick={(phase, add) => change({ phases: picked(phases, phase, add, known) })}
      theme={theme}
    />
  );
}

function ReadersAndWriters({ shown: { recorded, phases, listed }, theme }: PartProps) {
  if (!seesAccesses(recorded.run) || !knowsThreads(recorded.run)) return null;
  return (
    <ReadWritePanel
      report={recorded}
      matrix={(position) => matrixOf(recorded, position, phases)}
      positions={listed.map(({ position }) => position)}
      theme={theme}
    />
  );
}

function Phases({ shown: { report }, theme }: PartProps) {
  const { phases } = usePageState("phases");
  const change = useChangePage();
  if (report.phases.length < 2) return null;
  return (
    <PhasesBar
      report={report}
      selection={phases}
      onSelect={(chosen) => change({ phases: chosen })}
      theme={theme}
    />
  );
}
