// SPDX-License-Identifier: Apache-2.0
// The data of a structure's figures: its matrix with the selected pages and order.

import { useMemo } from "preact/hooks";
import type { Report, Structure, Thread } from "../../data/report";
import type { Matrix } from "../../model/matrix";
import { foldPages, HUGE_PAGE, pagesBefore, pagesPer } from "../../model/page-unit";
import { arrange, inOrder } from "../../model/thread-order";
import type { Arrangement } from "../../model/thread-order";
import { usePageState } from "../page/page-state";

export interface FigureData {
  report: Report;
  structure: Structure;
  /** Columns in the chosen pages, rows in the chosen order. */
  matrix: Matrix;
  /** The same matrix with rows in the report's order, for uses that do not depend on the order. */
  unordered: Matrix;
  /** The threads by line, like the matrix's rows. */
  threads: Thread[];
  arrangement: Arrangement;
  /** Counted pages per page shown. */
  per: number;
  /** Whether it is known where the structure's 2 MiB pages begin; true for smaller pages. */
  aligned: boolean;
}

/** `matrix` is the structure's at `position`, in the chosen phases. */
export function useFigureData(report: Report, position: number, matrix: Matrix): FigureData {
  const { order, pageUnit } = usePageState("order", "pageUnit");
  const structure = report.structures[position]!;
  const { page_size: counted } = report.run;
  const offset = structure.address_offset;
  const per = pagesPer(pageUnit, counted);
  const folded = useMemo(
    () => foldPages(matrix, per, pagesBefore(per, counted, offset)),
    [matrix, per, offset],
  );
  // Threads are ordered by single counted pages, because these show sharing best.
  const arrangement = useMemo(
    () => arrange(order, matrix, report.threads),
    [order, order === "sharing" ? matrix : report],
  );
  const ordered = useMemo(() => inOrder(folded, arrangement), [folded, arrangement]);
  const threads = useMemo(
    () => Array.from(arrangement.rows, (row) => report.threads[row]!),
    [report, arrangement],
  );
  const aligned = per === 1 || offset >= 0;
  return {
    report,
    structure,
    matrix: ordered,
    unordered: folded,
    threads,
    arrangement,
    per,
    aligned,
  };
}

/** Lines of the rows given, ascending. */
export function linesOf(rows: readonly number[], { lines }: Arrangement): number[] {
  return rows.map((row) => lines[row]!).sort((a, b) => a - b);
}

/** The size of the pages that are shown. */
export function pageSizeShown(per: number, counted: number): number {
  return per > 1 ? HUGE_PAGE : counted;
}
