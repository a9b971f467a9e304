// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { differenceOf } from "../src/model/difference";
import { largestDifference, jointMatrices, touchesAsAccesses } from "../src/model/joint";
import { matrix } from "./matrices";

/** Pages 0 to 3 one by one; thread 0 uses page 0, thread 1 pages 2 and 3. */
const fine = matrix(
  2,
  [1, 1, 1, 1],
  [
    { row: 0, column: 0, reads: 8 },
    { row: 1, column: 2, reads: 2, writes: 1 },
    { row: 1, column: 3, reads: 4 },
  ],
  [{ row: 0, column: 0 }],
);
/** Pages 0 and 1, 2 and 3, then 4 to 7 untouched, in a run of three threads. */
const coarse = matrix(
  3,
  [2, 2, 4],
  [
    { row: 0, column: 0, reads: 4 },
    { row: 2, column: 1, reads: 6 },
  ],
  [{ row: 2, column: 0 }],
);

describe("the matrices of two runs", () => {
  const { a, b } = jointMatrices(fine, coarse);

  it("have the same columns, as wide as the wider ones", () => {
    expect([...a.start]).toEqual([0, 2, 4]);
    expect([...a.pages]).toEqual([2, 2, 4]);
    expect(b.start).toBe(a.start);
    expect(a.touched.map((count) => Number(count > 0))).toEqual(Float64Array.of(1, 1, 0));
    expect(a.length).toBe(8);
  });

  it("have the same rows, and keep all counts", () => {
    expect([a.threads, b.threads]).toEqual([3, 3]);
    expect([...a.accesses.rowBegin]).toEqual([0, 1, 2, 2]);
    expect([...a.accesses.column]).toEqual([0, 1]);
    expect([...a.accesses.reads]).toEqual([8, 6]);
    expect([...a.accesses.writes]).toEqual([0, 1]);
    expect([...b.accesses.rowBegin]).toEqual([0, 1, 1, 2]);
    expect([...b.accesses.reads]).toEqual([4, 6]);
    expect([...a.firstTouches.pages]).toEqual([1]);
  });

  it("are subtracted by page as groups of threads are", () => {
    const all = (one: typeof a) => ({ matrix: one, lines: [0, 1, 2], threads: 1 });
    const { a: inA, b: inB } = differenceOf(all(a), all(b), "both");
    expect([...inA].slice(0, 2)).toEqual([4, 3.5]);
    expect([...inB].slice(0, 2)).toEqual([2, 3]);
  });

  it("have a largest difference of all cells", () => {
    expect(largestDifference({ a, b }, "both")).toBe(3.5);
    expect(largestDifference({ a, b }, "writes")).toBe(0.5);
    const touches = { a: touchesAsAccesses(a), b: touchesAsAccesses(b) };
    expect(largestDifference(touches, "both")).toBe(0.5);
  });

  it("leave out what a window does not know", () => {
    const window = { ...fine, start: Uint32Array.of(2, 3), pages: Uint32Array.of(1, 1) };
    const cut = {
      ...window,
      touched: Uint32Array.of(1, 1),
      accesses: {
        rowBegin: Uint32Array.of(0, 0, 2),
        column: Uint32Array.of(0, 1),
        reads: Float64Array.of(2, 4),
        writes: Float64Array.of(1, 0),
      },
      firstTouches: { ...fine.firstTouches, rowBegin: Uint32Array.of(0, 0, 0) },
      length: 8,
    };
    const joint = jointMatrices(cut, coarse);
    expect([...joint.a.start]).toEqual([2]);
    expect([...joint.a.accesses.reads]).toEqual([6]);
    expect([...joint.b.accesses.reads]).toEqual([6]);
  });

  it("are empty where nothing is common", () => {
    const none = jointMatrices(matrix(1, [], []), matrix(1, [], []));
    expect(none.a.start).toHaveLength(0);
    expect([...none.a.accesses.rowBegin]).toEqual([0, 0]);
  });
});
