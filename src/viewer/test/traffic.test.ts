// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Report, Thread } from "../src/data/report";
import { dotsIn, topologyOf } from "../src/model/topology";
import { readTraffic, structureSplit, summedUp, trafficOf } from "../src/model/traffic";

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Two nodes, two phases; one thread on each node, a third on both. */
const report = {
  phases: [{}, {}],
  traffic: {
    nodes: [0, 2],
    thread_node: Uint8Array.of(0, 1, 2),
    accesses: Float64Array.of(...[60, 0, 0, 20, 10, 0, 0, 0, 10], ...[1, 2, 3, 4, 5, 6, 7, 8, 9]),
    local: Float64Array.of(60, 1, 10, 5),
    remote: Float64Array.of(15, 2, 5, 4),
    thread_local: Float64Array.of(),
    thread_remote: Float64Array.of(),
  },
} as unknown as Report;

describe("traffic between nodes", () => {
  it("is split into local, remote and unknown, by phase", () => {
    expect(trafficOf(report, [0]).split).toEqual({ local: 70, remote: 20, unknown: 10 });
    const both = trafficOf(report, [0, 1]);
    expect([...both.accesses]).toEqual([61, 2, 3, 24, 15, 6, 7, 8, 19]);
    expect([...both.rowSums]).toEqual([66, 45, 34]);
    expect([...both.columnSums]).toEqual([92, 25, 28]);
  });
  it("is known for a structure, and what remains is unknown", () => {
    expect(structureSplit(report, 1, [0], 20)).toEqual({ local: 10, remote: 5, unknown: 5 });
    expect(structureSplit(report, 0, [0, 1], 78)).toEqual({ local: 61, remote: 17, unknown: 0 });
  });
});

describe("what the traffic says", () => {
  const advice = (...accesses: number[]) =>
    readTraffic(summedUp([0, 1], Float64Array.from(accesses)), percent).advice.join(" ");

  it("names a node that serves nearly everything", () => {
    expect(advice(50, 0, 0, 50, 0, 0, 0, 0, 0)).toContain("100 % of the accesses go to the memory");
    expect(advice(50, 0, 0, 0, 50, 0, 0, 0, 0)).not.toContain("memory of node");
    // Most threads run on that node: its memory is where it should be.
    expect(advice(90, 0, 0, 10, 0, 0, 0, 0, 0)).not.toContain("memory of node");
  });
  it("asks to pin threads that moved", () =>
    expect(advice(50, 0, 0, 0, 20, 0, 30, 0, 0)).toContain("Pin them"));
  it("leaves alone what is near", () =>
    expect(advice(50, 1, 0, 1, 48, 0, 0, 0, 0)).toContain("Almost no traffic between nodes"));
});

describe("the drawing of the machine", () => {
  const machine = {
    name: "",
    nodes: [
      { node: 0, cpus: [0, 1], memory_bytes: 7 },
      { node: 2, cpus: [], memory_bytes: 9 },
    ],
  };
  const threads = [{}, {}, {}] as Thread[];
  const scene = (room: number) =>
    topologyOf(machine, threads, report.traffic.thread_node, trafficOf(report, [0]), room);

  it("puts threads on their nodes, and those of several into a column of their own", () => {
    const { columns } = scene(600);
    expect(columns.map(({ node }) => node)).toEqual([0, 2, undefined]);
    expect(columns.map((column) => column.threads)).toEqual([[0], [1], [2]]);
    expect(columns.map(({ cpus, memoryBytes }) => [cpus.length, memoryBytes])).toEqual([
      [2, 7],
      [0, 9],
      [0, 0],
    ]);
  });
  it("has bands as wide as the accesses, and none where there are none", () => {
    const { bands, columns } = scene(600);
    expect(bands.map(({ from, to, kind }) => [from, to, kind])).toEqual([
      [0, 0, "local"],
      [1, 0, "remote"],
      [1, 1, "local"],
      [2, 2, "unknown"],
    ]);
    expect(bands[0]!.width / bands[1]!.width).toBeCloseTo(3);
    for (const { to, x1, width } of bands) {
      expect(x1 - width / 2).toBeGreaterThanOrEqual(columns[to]!.x);
      expect(x1 + width / 2).toBeLessThanOrEqual(columns[to]!.x + columns[to]!.width);
    }
  });
  it("fits the room while columns are not too narrow", () => {
    expect(scene(300).width).toBeLessThanOrEqual(300);
    expect(scene(10_000).width).toBeLessThan(700);
  });

  it("draws a dot per thread, and none when they do not fit", () => {
    for (const count of [1, 4, 64, 300]) {
      const { step, perRow } = dotsIn(count, 80, 50);
      expect(perRow * step).toBeLessThanOrEqual(80);
      expect(Math.ceil(count / perRow) * step).toBeLessThanOrEqual(50);
    }
    expect(dotsIn(5000, 80, 50).step).toBe(0);
  });
});
