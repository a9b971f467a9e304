// SPDX-License-Identifier: Apache-2.0
// The figures' numbers for files: exact, unformatted.

import { wordsOf } from "../../model/counting";
import { threadSums } from "../../model/matrix";
import type { CsvTable } from "../../model/csv";
import type { FigureData } from "./figure-data";

/** Every field of the access distribution and the first touches in it. */
export function cellTable({ matrix, threads, structure, report }: FigureData): CsvTable {
  const { accesses, firstTouches } = matrix;
  const rows: (string | number)[][] = [];
  threads.forEach(({ thread }, line) => {
    let touch = firstTouches.rowBegin[line]!;
    const touchEnd = firstTouches.rowBegin[line + 1]!;
    const add = (column: number, reads: number, writes: number, first: number) => {
      const page = matrix.start[column]!;
      rows.push([
        structure.name,
        page,
        matrix.pages[column]!,
        page * report.run.page_size,
        thread,
        reads,
        writes,
        first,
      ]);
    };
    const touchesBefore = (column: number) => {
      for (; touch < touchEnd && firstTouches.column[touch]! < column; touch++) {
        add(firstTouches.column[touch]!, 0, 0, firstTouches.pages[touch]!);
      }
    };
    for (let i = accesses.rowBegin[line]!; i < accesses.rowBegin[line + 1]!; i++) {
      const column = accesses.column[i]!;
      touchesBefore(column);
      const here = touch < touchEnd && firstTouches.column[touch] === column;
      const first = here ? firstTouches.pages[touch++]! : 0;
      add(column, accesses.reads[i]!, accesses.writes[i]!, first);
    }
    touchesBefore(Infinity);
  });
  const { reads, writes } = wordsOf(report.run).columns;
  return {
    columns: [
      ...["structure", "first_page", "pages", "offset_bytes", "thread"],
      ...[reads, writes, "pages_first_touched"],
    ],
    rows,
  };
}

/** One row per thread, in the order shown. */
export function threadTable({ report, matrix, threads, structure }: FigureData): CsvTable {
  const named = wordsOf(report.run).columns;
  const { reads, writes, pages, firstTouched } = threadSums(matrix);
  return {
    columns: [
      ...["structure", "thread", "name", named.reads, named.writes],
      ...["pages_used", "pages_first_touched", "cpus", "nodes"],
    ],
    rows: threads.map(({ thread, name, cpus, nodes }, line) => [
      structure.name,
      thread,
      name,
      reads[line]!,
      writes[line]!,
      pages[line]!,
      firstTouched[line]!,
      cpus.join(" "),
      nodes.join(" "),
    ]),
  };
}
