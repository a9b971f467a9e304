// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Report } from "../src/data/report";
import { counting, unitOf } from "../src/model/counting";
import { entryAt, matrixOf, measured, threadSums } from "../src/model/matrix";
import { cellsInLines, mostUsed, reportInLines } from "../src/model/memory-lines";
import { countsOf } from "../src/model/phase-counts";
import { sharingOf } from "../src/model/sharing";
import { structureRows } from "../src/model/structure-list";
import { trafficOf } from "../src/model/traffic";
import { phase, structure } from "./matrices";

/**
 * Two structures, two phases, two threads. Structure 0 is accessed most, but stays in a cache:
 * thread 1 takes no line for it. Structure 1 comes from memory, in the second phase only.
 */
const report = {
  run: { recorder: { name: "binary" }, reads: 1160, writes: 40 },
  threads: [{ thread: 0 }, { thread: 1 }],
  structures: [
    structure({ structure: 5, reads: 1100, writes: 0, threads: 2 }),
    structure({ structure: 6, reads: 60, writes: 40, threads: 2 }),
  ],
  phases: [phase({ reads: 500 }), phase({ reads: 660, writes: 40 })],
  columns: {
    begin: Uint8Array.of(0, 2, 3),
    start: Uint8Array.of(0, 1, 0),
    pages: Uint8Array.of(1, 1, 1),
    touched: Uint8Array.of(1, 1, 1),
  },
  cells: {
    begin: Uint8Array.of(0, 2, 3, 3, 5),
    row: Uint8Array.of(0, 1, 1, 0, 1),
    column: Uint8Array.of(0, 1, 1, 0, 0),
    reads: Uint16Array.of(300, 200, 600, 30, 30),
    writes: Uint8Array.of(0, 0, 0, 20, 20),
    memory_lines: Uint8Array.of(2, 0, 0, 25, 30),
    written_lines: Uint8Array.of(0, 0, 0, 10, 0),
  },
  first_touches: {
    begin: Uint8Array.of(0, 0, 0, 0, 0),
    row: new Uint8Array(),
    column: new Uint8Array(),
    pages: new Uint8Array(),
    place: new Uint8Array(),
  },
  sharing: {
    groups: 2,
    group: Uint8Array.of(0, 1),
    accesses: Uint16Array.of(...[350, 50, 50, 850], ...[300, 0, 0, 200], ...[50, 50, 50, 650]),
  },
  traffic: {
    nodes: [0],
    thread_node: Uint8Array.of(0, 0),
    accesses: Uint16Array.of(...[500, 0, 0, 0], ...[700, 0, 0, 0]),
    local: Uint16Array.of(500, 600, 0, 100),
    remote: Uint8Array.of(0, 0, 0, 0),
    thread_local: Uint16Array.of(300, 50, 200, 650),
    thread_remote: Uint8Array.of(0, 0, 0, 0),
  },
  memory_lines: {
    fetched: Uint8Array.of(2, 55),
    written: Uint8Array.of(0, 10),
    shared: Uint8Array.of(...[37, 30, 30, 30], ...[2, 0, 0, 0], ...[35, 30, 30, 30]),
    traffic: Uint8Array.of(...[2, 0, 0, 0], ...[65, 0, 0, 0]),
    local: Uint8Array.of(2, 0, 0, 65),
    remote: Uint8Array.of(0, 0, 0, 0),
    thread_local: Uint8Array.of(2, 35, 0, 30),
    thread_remote: Uint8Array.of(0, 0, 0, 0),
  },
} as unknown as Report;
const inLines = reportInLines(report);

describe("a report in memory lines", () => {
  it("is the report itself if no lines were counted; otherwise, it is made once", () => {
    const { memory_lines: _, ...without } = report;
    expect(reportInLines(without)).toBe(without);
    expect(reportInLines(report)).toBe(inLines);
  });

  it("says what it counts", () => {
    expect([counting(report.run), counting(inLines.run)]).toEqual(["accesses", "memory lines"]);
    expect(unitOf(inLines.run, "reads")).toBe("lines from memory");
    expect(unitOf(report.run, "reads")).toBe("reads");
  });

  it("has the lines of each field, and no field without any", () => {
    const matrix = matrixOf(inLines, 0);
    expect(measured(matrix.accesses, "both", entryAt(matrix.accesses, 0, 0))).toBe(2);
    expect(entryAt(matrix.accesses, 1, 1)).toBe(-1);
    expect(entryAt(matrixOf(report, 0).accesses, 1, 1)).toBeGreaterThanOrEqual(0);
    const { reads, writes } = threadSums(matrixOf(inLines, 1, [1]));
    expect([...reads, ...writes]).toEqual([25, 30, 10, 0]);
    expect(matrixOf(inLines, 1, [0]).accesses.column).toHaveLength(0);
  });

  it("adds up to the lines of the run, of its phases and of its structures", () => {
    expect([inLines.run.reads, inLines.run.writes]).toEqual([57, 10]);
    expect(countsOf(inLines, [0, 1]).accesses).toBe(67);
    const { rows } = structureRows(inLines, [0, 1]);
    expect(rows.map(({ reads, writes, threads }) => [reads, writes, threads])).toEqual([
      [2, 0, 1],
      [55, 10, 2],
    ]);
    expect(inLines.structures.map(({ reads, writes }) => reads + writes)).toEqual([2, 65]);
  });

  it("has sharing and traffic in lines", () => {
    expect([...sharingOf(inLines, [0, 1], [0, 1]).shared]).toEqual([37, 30, 30, 30]);
    expect([...sharingOf(inLines, [1], [0, 1]).shared]).toEqual([35, 30, 30, 30]);
    expect(trafficOf(inLines, [0, 1]).split).toEqual({ local: 67, remote: 0, unknown: 0 });
  });

  it("starts with what memory is used for most, not with what is accessed most", () => {
    expect([mostUsed(report), mostUsed(inLines)]).toEqual([0, 1]);
  });

  it("keeps nothing where no lines are in a window's cells", () => {
    expect(cellsInLines({ ...report.cells, memory_lines: null, written_lines: null }).row).toEqual(
      new Uint32Array(),
    );
  });
});
