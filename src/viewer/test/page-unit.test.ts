// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { foldPages, pagesBefore, pagesPer, sharedColumns } from "../src/model/page-unit";
import { matrix } from "./matrices";

const PER = pagesPer("2m", 4096);

/** 1024 pages; thread 0 uses pages 0 and 600, thread 1 pages 500 and 700. */
const two = matrix(
  2,
  Array.from({ length: 1024 }, () => 1),
  [
    { row: 0, column: 0, reads: 1 },
    { row: 0, column: 600, reads: 2, writes: 3 },
    { row: 1, column: 500, reads: 4 },
    { row: 1, column: 700, writes: 5 },
  ],
  [
    { row: 0, column: 0 },
    { row: 0, column: 600 },
    { row: 1, column: 500 },
  ],
);

describe("pages of 2 MiB", () => {
  it("have 512 counted pages of 4 KiB, 32 of 64 KiB, and one that is larger", () => {
    expect([4096, 65536, 4 << 20].map((size) => pagesPer("2m", size))).toEqual([512, 32, 1]);
    expect(pagesPer("4k", 4096)).toBe(1);
    expect(foldPages(two, 1, 0)).toBe(two);
  });

  it("sum up accesses and first touches of their pages", () => {
    const { start, pages, touched, length, accesses, firstTouches } = foldPages(two, PER, 0);
    expect([start, pages, touched].map((column) => [...column])).toEqual([
      [0, 512],
      [512, 512],
      [2, 2],
    ]);
    expect(length).toBe(1024);
    expect([...accesses.column]).toEqual([0, 1, 0, 1]);
    expect([...accesses.reads]).toEqual([1, 2, 4, 0]);
    expect([...accesses.writes]).toEqual([0, 3, 0, 5]);
    expect([...firstTouches.pages]).toEqual([1, 1, 1]);
  });

  it("begin where the machine's do, not where the structure does", () => {
    // The structure begins 88 pages before a border.
    const before = pagesBefore(PER, 4096, (512 - 88) * 4096 + 64);
    expect(before).toBe(424);
    const { start, pages, accesses } = foldPages(two, PER, before);
    expect([...start]).toEqual([0, 88, 600]);
    expect([...pages]).toEqual([88, 512, 424]);
    expect([...accesses.column]).toEqual([0, 2, 1, 2]);
    expect(pagesBefore(PER, 4096, -1)).toBe(0);
  });

  it("do not fill untouched stretches", () => {
    const gap = matrix(
      1,
      [10, 5000, 10],
      [
        { row: 0, column: 0, reads: 1 },
        { row: 0, column: 2, reads: 1 },
      ],
    );
    const { start, pages, touched, accesses } = foldPages(gap, PER, 0);
    expect([...start]).toEqual([0, 512, 4608]);
    expect([...pages]).toEqual([512, 4096, 412]);
    expect([...touched]).toEqual([10, 0, 10]);
    expect([...accesses.column]).toEqual([0, 2]);
  });

  it("show who shares one", () => {
    expect(sharedColumns(two)).toEqual({ single: 4, shared: 0 });
    expect(sharedColumns(foldPages(two, PER, 0))).toEqual({ single: 0, shared: 2 });
  });
});
