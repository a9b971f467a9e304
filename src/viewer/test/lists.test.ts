// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import * as show from "../src/model/format";
import { readWriteOf } from "../src/model/read-write";
import { folded, listed } from "../src/model/structure-list";
import type { StructureRow, Wanted } from "../src/model/structure-list";
import { matrix, structure } from "./matrices";

const rows = [
  structure({ name: "b10", reads: 900, file: "/src/solve.c", threads: 4 }),
  structure({ name: "b9", reads: 99_000, size: 7, threads: 1 }),
  structure({ name: "tiny", writes: 1, module: "libm.so" }),
].map((structure, position): StructureRow => ({
  position,
  structure,
  reads: structure.reads,
  writes: structure.writes,
  threads: structure.threads,
  split: { local: 0, remote: position, unknown: 0 },
}));
const wanted: Wanted = { search: "", order: { key: "share", descending: true }, minor: false };
const list = (change: Partial<Wanted>) =>
  listed({ rows, accesses: 99_901, runAccesses: 99_901 }, { ...wanted, ...change }).map(
    ({ position }) => position,
  );

describe("the list of structures", () => {
  it("is sorted by share, without minor ones", () => expect(list({})).toEqual([1, 0]));
  it("shows minor ones on request", () => expect(list({ minor: true })).toEqual([1, 0, 2]));
  it("sorts numbers in names as numbers", () =>
    expect(list({ order: { key: "name", descending: false } })).toEqual([1, 0]));
  it("sorts by the number of remote accesses", () =>
    expect(list({ minor: true, order: { key: "remote", descending: true } })).toEqual([2, 1, 0]));
  it("folds thread stacks and the runtime's memory below 1 % away, and says how much", () => {
    const few = (name: string, reads: number, more = {}): StructureRow => {
      const split = { local: 0, remote: 0, unknown: 0 };
      const named = structure({ name, reads, ...more });
      return { position: 0, structure: named, reads, writes: 0, threads: 1, split };
    };
    const some = [
      few("A", 980),
      few("Stack#0", 9, { owner: "stack" }),
      few("state", 5, { owner: "runtime" }),
      few("B", 6),
      few("Stack#1", 30, { owner: "stack" }),
    ];
    const all = { rows: some, accesses: 1000, runAccesses: 1000 };
    const shown = listed(all, wanted);
    expect(shown.map(({ structure }) => structure.name)).toEqual(["A", "Stack#1", "B"]);
    expect(folded(all)).toEqual({ stacks: 1, others: 1, share: 0.014 });
  });
  it("finds names, files and modules, minor or not", () => {
    expect(list({ search: "SOLVE" })).toEqual([0]);
    expect(list({ search: "libm tiny" })).toEqual([2]);
    expect(list({ search: "b10 libm" })).toEqual([]);
  });
});

describe("readers and writers", () => {
  it("are those with at least one read or write", () => {
    const use = readWriteOf(
      matrix(
        4,
        [1, 1],
        [
          { row: 0, column: 0, writes: 1 },
          { row: 1, column: 0, reads: 1 },
          { row: 2, column: 0, reads: 1 },
          { row: 2, column: 1, writes: 1 },
        ],
      ),
      [0, 1, 2, 3],
    );
    expect([...use.use]).toEqual([2, 1, 3, 0]);
    expect(use.neverRead).toEqual([0, 3]);
    expect(use.neverWrite).toEqual([1, 3]);
  });
});

describe("numbers for people", () => {
  const plain = (text: string) => text.replaceAll("\u202f", " ");

  it("groups digits and names sizes", () => {
    expect(plain(show.count(1_234_567))).toBe("1 234 567");
    expect(plain(show.short(9_999))).toBe("9 999");
    expect(plain(show.short(12_345))).toBe("12.3 k");
    expect(plain(show.short(2.15e9))).toBe("2.15 G");
    expect(plain(show.bytes(8 << 20))).toBe("8 MiB");
    expect(plain(show.bytes(1536))).toBe("1.5 KiB");
    expect(plain(show.seconds(0.25))).toBe("250 ms");
    expect(plain(show.seconds(3725))).toBe("62 min 5 s");
  });

  it("never rounds a share to nothing or to all", () => {
    expect(plain(show.share(0))).toBe("0 %");
    expect(plain(show.share(1e-7))).toBe("< 0.01 %");
    expect(plain(show.share(0.99999))).toBe("> 99.9 %");
    expect(plain(show.share(1))).toBe("100 %");
  });

  it("writes runs of numbers as ranges", () => {
    expect(show.ranges([0, 1, 2, 5, 7, 8])).toBe("0–2, 5, 7, 8");
    expect(show.ranges([])).toBe("none");
    expect(show.ranges([0, 1, 2], 3)).toBe("all 3");
    expect(show.ranges([1, 3, 5, 7], 9, 2)).toBe("1, 3 and 2 more");
  });
});
