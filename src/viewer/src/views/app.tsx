// SPDX-License-Identifier: Apache-2.0
import { useMemo, useRef, useState } from "preact/hooks";
import type { Report } from "../data/report";
import type { Matrix } from "../model/matrix";
import { matrixOf } from "../model/matrix";
import { listed } from "../model/structure-list";
import type { Wanted } from "../model/structure-list";
import { Principles } from "./principles";
import { ReadWritePanel } from "./read-write-panel";
import { RunHeader } from "./run-header";
import { StandingOut } from "./standing-out";
import { StructureFigures } from "./structure-figures";
import { StructureTable } from "./structure-table";
import { useTheme } from "./theme";

const FIRST: Wanted = { search: "", order: { key: "share", descending: true }, minor: false };

export function App({ report }: { report: Report }) {
  const [theme, toggleTheme] = useTheme();
  const [wanted, setWanted] = useState(FIRST);
  const [selected, setSelected] = useState(() => fromAddress(report));
  const matrix = useMatrices(report);
  const accesses = report.run.reads + report.run.writes;
  const shown = useMemo(() => listed(report.structures, accesses, wanted), [report, wanted]);

  const select = (position: number) => {
    setSelected(position);
    history.replaceState(null, "", `#structure=${report.structures[position]!.structure}`);
  };
  const open = (position: number) => {
    select(position);
    document.getElementById("structure")?.scrollIntoView({ block: "start" });
  };

  return (
    <>
      <a class="skip" href="#structure">
        Skip to the figures
      </a>
      <RunHeader report={report} theme={theme} onTheme={toggleTheme} />
      <main>
        <StandingOut report={report} onOpen={open} />
        <StructureTable
          report={report}
          matrix={matrix}
          positions={shown}
          wanted={wanted}
          onWanted={setWanted}
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

function fromAddress(report: Report): number {
  const wanted = /^#structure=(\d+)$/.exec(location.hash)?.[1];
  const found = report.structures.findIndex(({ structure }) => String(structure) === wanted);
  return Math.max(0, found);
}
