// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Report } from "../src/data/report";
import { timeCurves, stepAt, stepsCsv, stepsOf } from "../src/model/time-curves";
import { phase, structure } from "./matrices";

/** Phase 1 runs twice, the second time beside phase 2, which is of another process. */
const SPANS = {
  phase: Uint8Array.of(0, 1, 1, 2),
  start: Uint32Array.of(0, 1_000_000, 3_000_000, 3_500_000),
  end: Uint32Array.of(1_000_000, 2_000_000, 4_000_000, 4_500_000),
};

/** One structure; local, remote and unknown accesses on two nodes. */
const REPORT = {
  structures: [structure()],
  spans: SPANS,
  phases: [
    phase({ name: "outside", reads: 10 }),
    phase({ name: "sweep", reads: 60, writes: 20 }),
    phase({ name: "=other", reads: 7 }),
  ],
  cells: {
    begin: Uint8Array.of(0, 1, 2, 2),
    row: Uint8Array.of(0, 0),
    column: Uint8Array.of(0, 0),
    reads: Uint8Array.of(4, 30),
    writes: Uint8Array.of(0, 10),
  },
  traffic: {
    nodes: [0, 1],
    accesses: [
      ...[0, 0, 10, 0, 0, 0, 0, 0, 0],
      ...[20, 30, 0, 10, 0, 20, 0, 0, 0],
      ...[7, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
    local: [4, 10, 0],
    remote: [0, 30, 0],
  },
} as unknown as Report;

describe("curves over time", () => {
  const steps = stepsOf(SPANS);

  it("have a step for each combination of phases that run at the same time", () => {
    expect(steps.map(({ from, to, phases }) => [from / 1e6, to / 1e6, phases])).toEqual([
      [0, 1, [0]],
      [1, 2, [1]],
      [3, 3.5, [1]],
      [3.5, 4, [1, 2]],
      [4, 4.5, [2]],
    ]);
    expect(stepsOf({ phase: [0], start: [5], end: [5] } as never)).toEqual([]);
    const rounded = stepsOf({ phase: [0, 1], start: [0, 9], end: [10, 20] } as never);
    expect(rounded.map(({ from, to }) => [from, to])).toEqual([
      [0, 9],
      [10, 20],
    ]);
  });

  it("are means over the repetitions of a phase, and their areas are the counts", () => {
    const [rate, remote] = timeCurves(REPORT, steps, -1, "accesses");
    expect(rate!.values).toEqual([10, 40, 40, 47, 7]);
    const area = steps.reduce((sum, s, i) => sum + (rate!.values[i]! * (s.to - s.from)) / 1e6, 0);
    expect(area).toBe(97);
    expect(remote!.values).toEqual([undefined, 40 / 60, 40 / 60, 20 / 37, 0]);
  });

  it("are those of one structure", () => {
    const [rate, remote] = timeCurves(REPORT, steps, 0, "accesses");
    expect(rate!.values).toEqual([4, 20, 20, 20, 0]);
    expect(remote!.values).toEqual([0, 0.75, 0.75, 0.75, undefined]);
  });

  it("have no remote share on one node", () => {
    const one = { ...REPORT, traffic: { ...REPORT.traffic, nodes: [0] } };
    expect(timeCurves(one as Report, steps, 0, "samples").map(({ name }) => name)).toEqual([
      "samples",
    ]);
  });

  it("know the step at a time, or the nearest one", () => {
    expect([-1, 0.5, 2.2, 2.9, 3.7, 9].map((time) => stepAt(steps, time * 1e6))).toEqual([
      0, 0, 1, 2, 3, 4,
    ]);
  });

  it("are saved as a table", () => {
    const { columns, rows } = stepsCsv(REPORT, steps, timeCurves(REPORT, steps, -1, "accesses"));
    expect(columns.slice(3)).toEqual(["accesses_per_second", "remote_accesses_share"]);
    expect(rows[0]).toEqual([0, 1, "outside", 10, ""]);
    expect(rows[3]!.slice(0, 4)).toEqual([3.5, 4, "sweep; =other", 47]);
  });
});
