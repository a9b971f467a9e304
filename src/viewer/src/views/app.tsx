// SPDX-License-Identifier: Apache-2.0
import { useMemo, useRef } from "preact/hooks";
import type { Report } from "../data/report";
import type { Matrix } from "../model/matrix";
import { matrixOf } from "../model/matrix";
import { positionOf } from "../model/page-state";
import type { Extents } from "../model/page-state";
import { listed } from "../model/structure-list";
import type { Wanted } from "../model/structure-list";
import { PageStateProvider, useChangePage, usePageState } from "./page-state";
import { Principles } from "./principles";
import { ReadWritePanel } from "./read-write-panel";
import { RunHeader } from "./run-header";
import { StandingOut } from "./standing-out";
import { StructureFigures } from "./structure-figures";
import { StructureTable } from "./structure-table";
import { useTheme } from "./theme";

export function App({ report }: { report: Report }) {
  const extents = useMemo(() => extentsOf(report), [report]);
  return (
    <PageStateProvider extents={extents}>
      <Page report={report} />
    </PageStateProvider>
  );
}

function extentsOf({ structures, threads }: Report): Extents {
  return { structures, threads: threads.length, phases: 1 };
}

function Page({ report }: { report: Report }) {
  const theme = useTheme();
  const state = usePageState("structure", "instance", "table");
  const change = useChangePage();
  const matrix = useMatrices(report);
  const accesses = report.run.reads + report.run.writes;
  const shown = useMemo(
    () => listed(report.structures, accesses, state.table),
    [report, state.table],
  );
  const selected = positionOf(state, report.structures);
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
      <RunHeader report={report} />
      <main>
        <StandingOut report={report} onOpen={open} />
        <StructureTable
          report={report}
          matrix={matrix}
          positions={shown}
          wanted={state.table}
          onWanted={(table: Wanted) => change({ table })}
          selected={selected}
          onSelect={select}
          theme={theme}
        />
        {report.structures.length > 0 && (
          <StructureFigures
            key={selected}
            report={report}
            position={selected}
            matrix={matrix(selected)}
            theme={theme}
          />
        )}
        <ReadWritePanel report={report} matrix={matrix} positions={shown} theme={theme} />
        <Principles folded={report.folded} />
      </main>
      <footer>
        Written by Numascape {report.run.recorder?.version ?? ""}. This page works offline and loads
        nothing.
      </footer>
    </>
  );
}

export type Matrices = (position: number) => Matrix;

/** Matrices are cut out of the report's tables when first needed. */
function useMatrices(report: Report): Matrices {
  const cut = useRef(new Map<number, Matrix>());
  return (position) => {
    let matrix = cut.current.get(position);
    if (!matrix) {
      matrix = matrixOf(report, position);
      cut.current.set(position, matrix);
    }
    return matrix;
  };
}
