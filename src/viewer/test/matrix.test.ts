// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Report } from "../src/data/report";
import { matrixOf, threadSums } from "../src/model/matrix";
import { phase, structure } from "./matrices";

type Row = [row: number, column: number, reads: number, writes: number];
type Touch = [row: number, column: number, pages: number, place: number];

/** Structures of four pages; cells and first touches by structure and phase. */
function phased(threads: number, cells: Row[][][], first: Touch[][][]): Report {
  const begin = (groups: unknown[][]) => {
    let end = 0;
    return Uint32Array.from([0, ...groups.map((rows) => (end += rows.length))]);
  };
  const c = cells.flat();
  const f = first.flat();
  const entries = cells.length;
  const start = Array.from({ length: entries }, () => [0, 1, 2, 3]).flat();
  return {
    threads: Array.from({ length: threads }, (_, thread) => ({ thread })),
    findings: [],
    structures: cells.map(() => structure()),
    phases: cells[0]!.map(() => phase()),
    columns: {
      begin: Uint32Array.from({ length: entries + 1 }, (_, i) => 4 * i),
      start: Uint32Array.from(start),
      pages: new Uint32Array(start.length).fill(1),
      touched: new Uint32Array(start.length).fill(1),
    },
    cells: {
      begin: begin(c),
      row: Uint32Array.from(c.flat(), ([row]) => row),
      column: Uint32Array.from(c.flat(), ([, column]) => column),
      reads: Float64Array.from(c.flat(), ([, , reads]) => reads),
      writes: Float64Array.from(c.flat(), ([, , , writes]) => writes),
    },
    first_touches: {
      begin: begin(f),
      row: Uint32Array.from(f.flat(), ([row]) => row),
      column: Uint32Array.from(f.flat(), ([, column]) => column),
      pages: Uint32Array.from(f.flat(), ([, , pages]) => pages),
      place: Uint32Array.from(f.flat(), ([, , , place]) => place),
    },
  } as unknown as Report;
}

const report = phased(
  3,
  [
    [[[0, 0, 1, 0]], [], [[2, 3, 5, 5]]],
    [
      [
        [0, 0, 1, 10],
        [0, 3, 2, 20],
        [2, 1, 3, 30],
      ],
      [
        [0, 1, 4, 40],
        [0, 3, 2 ** 40, 50],
        [1, 0, 6, 60],
      ],
      [[0, 0, 7, 70]],
    ],
  ],
  [
    [[], [], []],
    [
      [[0, 0, 1, 1]],
      [
        [0, 0, 3, 2],
        [1, 2, 1, 1],
      ],
      [[0, 0, 2, 3]],
    ],
  ],
);

const rows = (phases?: number[]) => {
  const { accesses, threads } = matrixOf(report, 1, phases);
  return Array.from({ length: threads }, (_, row) => {
    const range = [accesses.rowBegin[row]!, accesses.rowBegin[row + 1]!] as const;
    return [accesses.column, accesses.reads, accesses.writes].map((column) => [
      ...column.slice(...range),
    ]);
  });
};

describe("the matrix of a set of phases", () => {
  it("adds up all by default, columns in order", () => {
    expect(rows()).toEqual([
      [
        [0, 1, 3],
        [8, 4, 2 + 2 ** 40],
        [80, 40, 70],
      ],
      [[0], [6], [60]],
      [[1], [3], [30]],
    ]);
    expect(rows([2, 0, 1])).toEqual(rows());
  });

  it("of some phases has these alone", () => {
    expect(rows([0, 2])).toEqual([
      [
        [0, 3],
        [8, 2],
        [80, 20],
      ],
      [[], [], []],
      [[1], [3], [30]],
    ]);
  });

  it("of one phase shares the report's memory", () => {
    const { accesses } = matrixOf(report, 1, [1]);
    expect(accesses.reads.buffer).toBe(report.cells.reads.buffer);
    expect(rows([1])[0]).toEqual([
      [1, 3],
      [4, 2 ** 40],
      [40, 50],
    ]);
  });

  it("of none is empty, and phases that the report lacks are passed over", () => {
    expect(threadSums(matrixOf(report, 1, [])).reads).toEqual(new Float64Array(3));
    expect(rows([1, 99])).toEqual(rows([1]));
  });

  it("names the place that touched most pages first", () => {
    const { firstTouches } = matrixOf(report, 1);
    expect([...firstTouches.pages]).toEqual([6, 1]);
    expect([...firstTouches.place]).toEqual([2, 1]);
    expect([...firstTouches.rowBegin]).toEqual([0, 1, 2, 2]);
  });

  it("is the same object when asked for again", () => {
    expect(matrixOf(report, 1, [2, 1])).toBe(matrixOf(report, 1, [1, 2]));
    expect(matrixOf(report, 1)).not.toBe(matrixOf(report, 0));
  });
});
