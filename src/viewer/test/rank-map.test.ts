// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Job } from "../src/data/job";
import {
  classBoundaries,
  largestIn,
  majorStructures,
  measuresOf,
  namesOf,
  rankMapOf,
  rankMapTable,
  cellText,
  withStructures,
} from "../src/model/rank-map";

const numbers = (...values: number[]) => Float64Array.from(values);

/** Ranks 0, 1, 2 and 5, of which rank 1 is of class 2, and two structures. */
const JOB = {
  structures: [
    { label: "field", kind: "heap" },
    { label: "window", kind: "mapping" },
  ],
  places: [{ host: "turing" }],
  ranks: {
    rank: numbers(0, 1, 2, 5),
    place: numbers(0, 0, 0, 0),
    group: numbers(0, 1, 0, 0),
    threads: numbers(4, 4, 1, 1),
  },
  cells: {
    accesses: numbers(100, 300, 200, 0, 0, 10, 0, 0),
    remote: numbers(1, 501, 0, 0, 0, 1001, 0, 0),
    imbalance: numbers(1000, 4000, 1000, 0, 0, 1500, 0, 0),
  },
} as unknown as Job;

describe("the heat map of ranks", () => {
  it("has the accesses of each rank to each structure", () => {
    const map = rankMapOf(JOB, "accesses", "rank");
    expect([...map.values]).toEqual([100, 300, 200, NaN, NaN, 10, NaN, NaN]);
    expect([map.rows, map.largest]).toEqual([2, 300]);
  });

  it("orders ranks by class, and says where a class begins", () => {
    const map = rankMapOf(JOB, "accesses", "class");
    expect([...map.columns]).toEqual([0, 2, 3, 1]);
    expect([...map.values.slice(0, 4)]).toEqual([100, 200, NaN, 300]);
    expect(classBoundaries(JOB, map)).toEqual([3]);
  });

  it("compares with the mean of the ranks that use the structure", () => {
    const { values } = rankMapOf(JOB, "relative", "rank");
    expect([...values.slice(0, 4)]).toEqual([0.5, 1.5, 1, NaN]);
    expect(values[5]).toBe(1);
  });

  it("tells a remote share of 0 from an unknown one", () => {
    const map = rankMapOf(JOB, "remote", "rank");
    expect([...map.values.slice(0, 4)]).toEqual([0, 0.5, NaN, NaN]);
    expect(map.largest).toBe(1);
    const texts = [...map.values.slice(0, 3)].map((value) => cellText("remote", value));
    expect(texts).toEqual(["0\u202f% remote", "50.0\u202f% remote", "unknown"]);
  });

  it("finds the largest of neighbouring ranks", () => {
    const map = rankMapOf(JOB, "accesses", "rank");
    expect(largestIn(map, 0, 0, 4)).toBe(1);
    expect(largestIn(map, 1, 0, 4)).toBe(1);
    expect(largestIn(map, 1, 2, 4)).toBe(2);
  });

  it("offers what the job knows", () => {
    const names = (job: Job) => measuresOf(job).map(([name]) => name);
    expect(names(JOB)).toEqual(["accesses", "relative", "remote", "threads"]);
    const ranks = { ...JOB.ranks, threads: numbers(1, 1, 1, 1) };
    const cells = { ...JOB.cells, remote: new Float64Array(8) };
    expect(names({ ...JOB, ranks, cells })).toEqual(["accesses", "relative"]);
  });

  it("is saved as numbers", () => {
    const { columns, rows } = rankMapTable(JOB);
    expect(columns).toHaveLength(rows[0]!.length);
    expect(rows).toEqual([
      [0, "turing", 1, "field", "heap", 100, 0, 1],
      [1, "turing", 2, "field", "heap", 300, 0.5, 4],
      [2, "turing", 1, "field", "heap", 200, null, 1],
      [1, "turing", 2, "window", "mapping", 10, 1, 1.5],
    ]);
  });
});

describe("minor structures", () => {
  const cell = (accesses: number[]) => Float64Array.from(accesses);
  /** Two ranks of 1000 accesses each; the last structure is a tenth of rank 1. */
  const job = {
    structures: [
      { label: "field", kind: "heap", share: 0.93 },
      { label: "linker", kind: "small", share: 0.005 },
      { label: "linker", kind: "mapping", share: 0.005 },
      { label: "library", kind: "mapping", share: 0.005 },
      { label: "list", kind: "heap", share: 0.005 },
    ],
    ranks: { rank: cell([0, 1]), reads: cell([1000, 600]), writes: cell([0, 400]) },
    cells: {
      accesses: cell([985, 875, 5, 5, 5, 5, 5, 5, 0, 110]),
      remote: cell([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
      imbalance: cell([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    },
  } as unknown as Job;

  it("are those that no rank uses much", () => {
    expect(majorStructures(job)).toEqual([0, 4]);
  });

  it("are left out with their cells", () => {
    const part = withStructures(job, [0, 4]);
    expect(part.structures.map(({ label }) => label)).toEqual(["field", "list"]);
    expect([...part.cells.remote]).toEqual([1, 2, 9, 10]);
  });

  it("have different names", () => {
    expect(namesOf(job)).toEqual([
      "field",
      "linker (small)",
      "linker (mapping)",
      "library",
      "list",
    ]);
  });
});
