// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Report } from "../../data/report";
import { reportOn } from "../../model/machine-choice";
import { matrixOf } from "../../model/matrix";
import type { Matrices } from "../../model/matrix";
import { reportInLines } from "../../model/memory-lines";
import { positionOf } from "../../model/page-state";
import { chosenPhases } from "../../model/phase-selection";
import { listed, structureRows } from "../../model/structure-list";
import type { StructureRow, StructureRows } from "../../model/structure-list";
import { arrange } from "../../model/thread-order";
import { usePageState } from "../page/page-state";

/** The parts of a report that the reader chose. */
export interface ShownReport {
  /** The report on the chosen machine. It counts accesses. */
  recorded: Report;
  /** The same, but it counts memory lines if these are chosen. */
  report: Report;
  phases: readonly number[];
  matrix: Matrices;
  all: StructureRows;
  listed: StructureRow[];
  /** Position of the chosen structure, or of one instance of it. */
  selected: number;
  /** Position of the chosen structure. */
  whole: number;
  /** Threads (positions) from top to bottom. */
  order: number[];
}

export function useShownReport(written: Report): ShownReport {
  const state = usePageState(
    ...(["structure", "instance", "table", "phases", "order", "count", "machine"] as const),
  );
  const recorded = reportOn(written, state.machine);
  const report = state.count === "lines" ? reportInLines(recorded) : recorded;
  const phases = useMemo(
    () => chosenPhases(state.phases, report.phases.length),
    [report, state.phases],
  );
  const matrix: Matrices = (position) => matrixOf(report, position, phases);
  const all = useMemo(() => structureRows(report, phases), [report, phases]);
  const rows = useMemo(() => listed(all, state.table), [all, state.table]);
  const selected = positionOf(state, report.structures);
  const whole = positionOf({ ...state, instance: -1 }, report.structures);
  const order = useMemo(
    () =>
      report.structures.length > 0
        ? [...arrange(state.order, matrix(whole), report.threads).rows]
        : [],
    [report, phases, state.order, whole],
  );
  return { recorded, report, phases, matrix, all, listed: rows, selected, whole, order };
}
