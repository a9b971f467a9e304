// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Report } from "../../data/report";
import { knowsThreads, seesAccesses } from "../../model/counting";
import { reportOn } from "../../model/machine-choice";
import { matrixOf } from "../../model/matrix";
import { mostUsed, reportInLines } from "../../model/memory-lines";
import type { Matrices } from "../../model/matrix";
import { positionOf } from "../../model/page-state";
import type { Extents } from "../../model/page-state";
import { chosenPhases, picked } from "../../model/phase-selection";
import { listed, structureRows } from "../../model/structure-list";
import type { Wanted } from "../../model/structure-list";
import { arrange } from "../../model/thread-order";
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

/** Machines with many nodes need the page's whole width. */
function overviewSize({ traffic }: Report): string {
  if (traffic.nodes.length < 2) return "one-node";
  return traffic.nodes.length > 6 ? "many-nodes" : "";
}

/** `recorded` counts accesses; the machine, and what `report` counts, are the reader's choice. */
function Page({ report: written }: { report: Report }) {
  const theme = useTheme();
  const state = usePageState(
    ...(["structure", "instance", "table", "phases", "order", "colourBy", "count"] as const),
    "machine",
  );
  const recorded = reportOn(written, state.machine);
  const report = state.count === "lines" ? reportInLines(recorded) : recorded;
  const change = useChangePage();
  const phases = useMemo(
    () => chosenPhases(state.phases, report.phases.length),
    [report, state.phases],
  );
  const matrix: Matrices = (position) => matrixOf(report, position, phases);
  const all = useMemo(() => structureRows(report, phases), [report, phases]);
  const rows = useMemo(() => listed(all, state.table), [all, state.table]);
  const selected = positionOf(state, report.structures);
  const whole = positionOf({ ...state, instance: -1 }, report.structures);
  const any = report.structures.length > 0;
  const order = useMemo(
    () => (any ? [...arrange(state.order, matrix(whole), report.threads).rows] : []),
    [report, phases, state.order, whole],
  );
  const seen = seesAccesses(report.run);
  const select = (position: number) =>
    change({ structure: report.structures[position]!.structure, instance: -1 });
  const open = (position: number) => {
    select(position);
    document.getElementById("structure")?.scrollIntoView({ block: "start" });
  };
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
        {seen && knowsThreads(report.run) && (
          <div class={`overview ${overviewSize(report)}`}>
            <MachinePanel report={report} phases={phases} theme={theme} />
            {report.threads.length > 1 && (
              <SharingPanel report={report} phases={phases} order={order} theme={theme} />
            )}
          </div>
        )}
        <StructureTable
          report={report}
          matrix={matrix}
          all={all}
          listed={rows}
          wanted={state.table}
          onWanted={(table: Wanted) => change({ table })}
          colourBy={state.colourBy}
          onColourBy={(colourBy) => change({ colourBy })}
          selected={whole}
          onSelect={select}
          theme={theme}
        />
        {any && (
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
        )}
        {seen && report.phases.length > 1 && (
          <TimePanel
            report={recorded}
            selected={whole}
            selection={state.phases}
            onPick={(phase, add) =>
              change({ phases: picked(state.phases, phase, add, report.phases.length) })
            }
            theme={theme}
          />
        )}
        <CallPathsPanel report={recorded} phases={phases} selected={whole} onSelect={select} />
        {seen && knowsThreads(report.run) && (
          <ReadWritePanel
            report={recorded}
            matrix={(position) => matrixOf(recorded, position, phases)}
            positions={rows.map(({ position }) => position)}
            theme={theme}
          />
        )}
        <Principles folded={report.folded} />
      </main>
      <footer>
        Written by Numascape {report.run.recorder?.version ?? ""}. This page works offline and loads
        nothing.
      </footer>
      {report.phases.length > 1 && (
        <PhasesBar
          report={report}
          selection={state.phases}
          onSelect={(chosen) => change({ phases: chosen })}
          theme={theme}
        />
      )}
    </>
  );
}
