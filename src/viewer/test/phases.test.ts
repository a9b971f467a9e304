// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Report } from "../src/data/report";
import { countsOf } from "../src/model/phase-counts";
import { phaseAt, phasesBetween, picked } from "../src/model/phase-selection";
import { estimatedShare, lineSums, usesOf, windowOf } from "../src/model/source-lines";
import { phase, structure } from "./matrices";

describe("choosing phases", () => {
  it("takes one phase; a second click selects all again", () => {
    expect(picked(null, 2, false, 4)).toEqual([2]);
    expect(picked([1, 3], 2, false, 4)).toEqual([2]);
    expect(picked([2], 2, false, 4)).toBeNull();
  });
  it("adds and removes, in order; to choose all or none is no selection", () => {
    expect(picked(null, 2, true, 4)).toEqual([2]);
    expect(picked([2], 0, true, 4)).toEqual([0, 2]);
    expect(picked([0, 2], 2, true, 4)).toEqual([0]);
    expect(picked([0], 0, true, 4)).toBeNull();
    expect(picked([0], 1, true, 2)).toBeNull();
  });

  const spans = {
    phase: Uint8Array.of(0, 1, 2, 1),
    start: Uint32Array.of(0, 10, 30, 50),
    end: Uint32Array.of(10, 20, 40, 60),
  };
  it("takes the phases that ran in a part of the time", () => {
    expect(phasesBetween(spans, 12, 35, 4)).toEqual([1, 2]);
    expect(phasesBetween(spans, 52, 55, 4)).toEqual([1]);
    expect(phasesBetween(spans, 22, 28, 4)).toBeNull();
    expect(phasesBetween(spans, 0, 60, 3)).toBeNull();
  });
  it("knows what ran at a time", () => {
    expect([5, 15, 25, 55].map((time) => phaseAt(spans, time))).toEqual([0, 1, undefined, 1]);
  });
});

describe("counts of phases", () => {
  /** A structure, an instance of it, and another one, by two phases. */
  const report = {
    threads: [{}, {}],
    findings: [],
    structures: [structure(), structure(), structure({ instance: 0, parent: 0 })],
    phases: [phase({ reads: 5, writes: 2 }), phase({ reads: 30 })],
    cells: {
      begin: Uint8Array.of(0, 2, 3, 3, 4, 5, 5),
      row: Uint8Array.of(0, 1, 1, 0, 0),
      column: Uint8Array.of(0, 0, 0, 0, 0),
      reads: Uint8Array.of(2, 3, 10, 20, 1),
      writes: Uint8Array.of(2, 0, 0, 0, 0),
    },
  } as unknown as Report;

  it("are sums over the cells of the chosen ones", () => {
    const both = countsOf(report, [0, 1]);
    expect([...both.reads]).toEqual([15, 20, 1]);
    expect([...both.threads]).toEqual([2, 1, 1]);
    expect(both.accesses).toBe(37);
    const second = countsOf(report, [1]);
    expect([...second.reads, ...second.writes]).toEqual([10, 20, 0, 0, 0, 0]);
    expect([...second.threads]).toEqual([1, 1, 0]);
  });
  it("count accesses to an instance once per thread", () =>
    expect([...countsOf(report, [0, 1]).threadAccesses]).toEqual([24, 13]));
});

describe("source lines", () => {
  const report = {
    loops: [{ file: "a.c", first: 3, last: 9, kind: "for" }],
    places: {
      function: ["", "f", "f", "g", "f"],
      file: ["", "a.c", "a.c", "a.c", "a.c"],
      line: [0, 4, 5, 4, 20],
      loop: [-1, 0, 0, 0, -1],
    },
    lines: {
      begin: Uint8Array.of(0, 5, 6),
      place: Uint8Array.of(1, 1, 2, 3, 4, 1),
      phase: Uint8Array.of(0, 1, 0, 0, 1, 0),
      reads: Uint8Array.of(10, 5, 30, 7, 1, 99),
      writes: Uint8Array.of(0, 5, 0, 0, 1, 0),
      estimated: Uint8Array.of(4, 1, 0, 7, 0, 0),
    },
  } as unknown as Report;

  it("are grouped by function and loop, the busiest first", () => {
    const [f, g] = usesOf(report, 0, [0, 1]);
    expect([f!.name, f!.reads, f!.writes]).toEqual(["f", 46, 6]);
    expect(f!.loops.map(({ reads, writes }) => [reads, writes])).toEqual([[45, 5]]);
    expect(f!.loops[0]!.lines).toEqual([
      { line: 5, reads: 30, writes: 0, estimated: 0 },
      { line: 4, reads: 15, writes: 5, estimated: 5 },
    ]);
    expect(f!.lines).toEqual([{ line: 20, reads: 1, writes: 1, estimated: 0 }]);
    expect(g!.name).toBe("g");
  });
  it("follow the phases", () =>
    expect(usesOf(report, 0, [1]).map(({ name, reads }) => [name, reads])).toEqual([["f", 6]]));
  it("add up what several functions do in a line", () =>
    expect(lineSums(usesOf(report, 0, [0, 1]), "a.c").get(4)).toEqual({
      reads: 22,
      writes: 5,
      estimated: 12,
    }));
  it("say how much of them is estimated, unless it is next to nothing", () => {
    expect(estimatedShare({ reads: 30, writes: 10, estimated: 10 })).toBe(0.25);
    expect(estimatedShare({ reads: 1000, writes: 0, estimated: 4 })).toBe(0);
    expect(estimatedShare({ reads: 0, writes: 0, estimated: 0 })).toBe(0);
  });
  it("have their text where the report holds it", () => {
    const sources = [{ file: "a.c", first: 3, text: ["x", "y"] }];
    expect(windowOf(sources, "a.c", 4)).toBe(sources[0]);
    expect(windowOf(sources, "a.c", 5)).toBeUndefined();
    expect(windowOf(undefined, "a.c", 4)).toBeUndefined();
  });
});
