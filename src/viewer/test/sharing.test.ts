// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Report } from "../src/data/report";
import { sharingOf, strongestPairs } from "../src/model/sharing";
import type { SharingMatrix } from "../src/model/sharing";
import { describeSharing, readSharing } from "../src/model/sharing-shape";

/** A matrix whose pairs share what `between` says; everybody makes 1000 accesses. */
function matrix(size: number, between: (a: number, b: number) => number): SharingMatrix {
  const shared = Float64Array.from({ length: size * size }, (_, i) => {
    const [a, b] = [Math.floor(i / size), i % size];
    return a === b ? 1000 : between(Math.min(a, b), Math.max(a, b));
  });
  return { size, threads: Array.from({ length: size }, (_, i) => [i]), shared };
}

const shape = (size: number, between: (a: number, b: number) => number) => {
  const { shape, detail, apart } = readSharing(matrix(size, between));
  return [shape, detail, apart];
};

describe("the shape of sharing", () => {
  it("is none when hardly anything is shared", () =>
    expect(shape(8, (a, b) => (b - a === 1 ? 4 : 0))).toEqual(["none", 0, []]));
  it("is all with all", () => expect(shape(8, (a, b) => 500 + a + b)).toEqual(["all", 0, []]));
  it("is all with all, apart from a thread that hardly takes part", () =>
    expect(shape(8, (a) => (a === 0 ? 3 : 900))).toEqual(["all", 0, [0]]));
  it("is a hub, wherever it is", () => {
    expect(shape(8, (a) => (a === 0 ? 300 : 0))).toEqual(["hub", 0, []]);
    expect(shape(8, (a, b) => (a === 5 || b === 5 ? 300 : 1))).toEqual(["hub", 5, []]);
  });
  it("is neighbours, at any distance that is small", () => {
    expect(shape(16, (a, b) => (b - a === 1 ? 100 : 0))).toEqual(["neighbours", 1, []]);
    expect(shape(16, (a, b) => (b - a === 4 ? 100 : 0))).toEqual(["neighbours", 4, []]);
  });
  it("is blocks of the size that they have", () => {
    for (const block of [2, 4, 8]) {
      const inside = (a: number, b: number) => Math.floor(a / block) === Math.floor(b / block);
      expect(shape(16, (a, b) => (inside(a, b) ? 400 : 2))).toEqual(["blocks", block, []]);
    }
  });
  it("is not named when there is no simple one", () =>
    expect(shape(9, (a, b) => ((a * 7 + b * 3) % 5 === 0 ? 500 : 0))[0]).toBe("mixed"));
  it("is all with all for two threads, none for one", () => {
    expect(shape(2, () => 700)[0]).toBe("all");
    expect(shape(1, () => 0)[0]).toBe("none");
  });

  it("tells of a hub beside neighbours", () => {
    const reading = readSharing(matrix(16, (a, b) => (b - a === 1 ? 500 : a === 0 ? 2 : 0)));
    expect([reading.shape, reading.hub]).toEqual(["neighbours", 0]);
    const more = readSharing(matrix(64, (a, b) => (b - a === 1 ? 500 : a === 0 ? 200 : 0)));
    expect([more.shape, more.detail, more.hub]).toEqual(["neighbours", 1, 0]);
    expect(describeSharing(reading, false, String).see).toContain(
      "all threads share with thread 0",
    );
  });
  it("is said with names", () => {
    const reading = readSharing(matrix(8, (a, b) => (a === 2 || b === 2 ? 300 : 0)));
    const { see } = describeSharing(reading, false, (row) => `T${row}`);
    expect(see).toBe("All threads share with thread T2, and almost not with each other.");
  });
});

describe("the matrix of a report", () => {
  /** Four threads in two groups; the run's matrix, then those of two phases. */
  const report = {
    phases: [{}, {}],
    sharing: {
      groups: 2,
      group: Uint8Array.of(0, 0, 1, 1),
      accesses: Float64Array.of(9, 3, 3, 8, 5, 2, 2, 4, 4, 1, 1, 4),
    },
  } as unknown as Report;

  it("is the run's for all phases, else the sum of theirs", () => {
    expect([...sharingOf(report, [0, 1], [0, 1, 2, 3]).shared]).toEqual([9, 3, 3, 8]);
    expect([...sharingOf(report, [1], [0, 1, 2, 3]).shared]).toEqual([4, 1, 1, 4]);
  });
  it("has its rows in the order of the threads", () => {
    const { shared, threads } = sharingOf(report, [0, 1], [3, 0, 2, 1]);
    expect([...shared]).toEqual([8, 3, 3, 9]);
    expect(threads).toEqual([
      [3, 2],
      [0, 1],
    ]);
  });
  it("lists pairs from the strongest on", () =>
    expect(strongestPairs(matrix(3, (a, b) => a + b - 1)).map(({ a, b }) => [a, b])).toEqual([
      [1, 2],
      [0, 2],
    ]));
});
