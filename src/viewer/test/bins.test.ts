// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import {
  averages,
  binAccesses,
  binFirstTouches,
  columnBins,
  rowBins,
  stripOf,
} from "../src/model/bins";
import { robustEnd } from "../src/model/matrix";
import { whole } from "../src/model/viewport";
import { matrix } from "./matrices";

/** 1000 pages by 4 threads, thread t alone on its quarter: 8 reads per page. */
const quarters = matrix(
  4,
  Array.from({ length: 1000 }, () => 1),
  Array.from({ length: 1000 }, (_, column) => ({
    row: Math.floor(column / 250),
    column,
    reads: 8,
  })),
  Array.from({ length: 1000 }, (_, column) => ({ row: 0, column })),
);
const all = whole({ width: 1000, height: 4 });

describe("folding to pixels", () => {
  it.each([100, 333, 1000, 2500])("keeps the sum of accesses at %i pixels", (pixels) => {
    const x = columnBins(quarters, all, pixels);
    const y = rowBins(4, all, 40);
    const { value } = binAccesses(quarters, "both", x, y);
    const width = x.left.length;
    const sum = value.reduce(
      (total, mean, i) => total + mean * x.weight[i % width]! * y.weight[Math.floor(i / width)]!,
      0,
    );
    expect(sum).toBeCloseTo(8000, 6);
    expect(x.weight.reduce((a, b) => a + b)).toBe(1000);
  });

  it("covers every pixel without overlap", () => {
    for (const pixels of [97, 700, 1000, 1999]) {
      const { left, right } = columnBins(quarters, all, pixels);
      expect(left[0]).toBe(0);
      expect(right.at(-1)).toBe(pixels);
      expect(left.slice(1)).toEqual(right.slice(0, -1));
    }
  });

  it("shows the mean per page and thread, whatever the fold", () => {
    const x = columnBins(quarters, all, 4);
    expect([...binAccesses(quarters, "both", x, rowBins(4, all, 4)).value]).toEqual([
      8, 0, 0, 0, 0, 8, 0, 0, 0, 0, 8, 0, 0, 0, 0, 8,
    ]);
    expect([...binAccesses(quarters, "both", x, rowBins(4, all, 1)).value]).toEqual([2, 2, 2, 2]);
    expect(binAccesses(quarters, "writes", x, rowBins(4, all, 4)).value.every((v) => v === 0)).toBe(
      true,
    );
  });

  it("looks at the visible part only", () => {
    const view = { x0: 250, x1: 500, y0: 1, y1: 2 };
    const binned = binAccesses(
      quarters,
      "reads",
      columnBins(quarters, view, 10),
      rowBins(4, view, 5),
    );
    expect([...binned.value]).toEqual(Array.from({ length: 10 }, () => 8));
  });

  it("does not thin out an island by the untouched pages around it", () => {
    const sparse = matrix(1, [1_000_000, 4, 1_000_000], [{ row: 0, column: 1, writes: 40 }]);
    const view = whole({ width: sparse.length, height: 1 });
    const x = columnBins(sparse, view, 100);
    expect([x.left, x.right, x.weight]).toEqual([[49], [50], [4]]);
    expect([...binAccesses(sparse, "both", x, rowBins(1, view, 1)).value]).toEqual([10]);
  });

  it("averages over threads and over pages", () => {
    const binned = binAccesses(quarters, "both", columnBins(quarters, all, 4), rowBins(4, all, 4));
    const { column, row } = averages(binned);
    expect([...column]).toEqual([2, 2, 2, 2]);
    expect([...row]).toEqual([2, 2, 2, 2]);
  });

  it("counts first touches by thread", () => {
    const { pages, row } = binFirstTouches(
      quarters,
      columnBins(quarters, all, 2),
      rowBins(4, all, 4),
    );
    expect([...pages]).toEqual([500, 500, 0, 0, 0, 0, 0, 0]);
    expect([...row]).toEqual([0, 0, -1, -1, -1, -1, -1, -1]);
  });
});

describe("strips", () => {
  it("name the dominant thread, its share and the mean", () => {
    const { row, share, mean } = stripOf(quarters, 4);
    expect([...row]).toEqual([0, 1, 2, 3]);
    expect([...share]).toEqual([1, 1, 1, 1]);
    expect([...mean]).toEqual([8, 8, 8, 8]);
  });

  it("know when nobody dominates", () => {
    const shared = matrix(
      4,
      [1],
      [0, 1, 2, 3].map((row) => ({ row, column: 0, reads: 5 })),
    );
    expect([...stripOf(shared, 1).share]).toEqual([0.25]);
  });
});

describe("the end of a scale", () => {
  it("is the largest value", () => {
    expect(robustEnd([1, 5, 3, 0])).toEqual({ end: 5, clipped: false });
    expect(robustEnd([])).toEqual({ end: 0, clipped: false });
  });

  it("leaves out a few values far above all others", () => {
    const values = Array.from({ length: 1000 }, (_, i) => (i === 0 ? 1e6 : 10 + (i % 7)));
    expect(robustEnd(values)).toEqual({ end: 16, clipped: true });
  });
});
