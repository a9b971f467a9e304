// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Machine } from "../src/data/report";
import { meanFactor, pairOf } from "../src/model/node-distance";
import { summedUp } from "../src/model/traffic";

const nodes = [0, 2].map((node) => ({ node, cpus: [node], memory_bytes: 0 }));
const machine: Machine = {
  name: "",
  nodes,
  distance: {
    factors: [
      [1, 1.5],
      [null, 1],
    ],
    latencies: [
      [100, 150],
      [null, null],
    ],
    sources: ["measured"],
  },
};

describe("distances between nodes", () => {
  it("are found by the nodes' numbers", () => {
    expect(pairOf(machine, 0, 2)).toEqual({ factor: 1.5, latency: 150 });
    expect(pairOf(machine, 2, 2)).toEqual({ factor: 1, latency: undefined });
  });
  it("are unknown for unknown nodes, and where nobody measured", () => {
    const unknown = { factor: undefined, latency: undefined };
    expect(pairOf(machine, 2, 0)).toEqual(unknown);
    expect(pairOf(machine, 0, 1)).toEqual(unknown);
    expect(pairOf(machine, undefined, 0)).toEqual(unknown);
    expect(pairOf({ name: "", nodes }, 0, 0)).toEqual(unknown);
  });
  it("give a mean over the accesses, when nearly all are known", () => {
    const traffic = (...accesses: number[]) => summedUp([0, 2], Float64Array.from(accesses));
    expect(meanFactor(machine, traffic(50, 50, 0, 0, 0, 0, 0, 0, 0))).toBe(1.25);
    expect(meanFactor(machine, traffic(30, 30, 0, 40, 0, 0, 0, 0, 0))).toBeUndefined();
    expect(meanFactor(machine, traffic(0, 0, 0, 0, 0, 0, 0, 0, 0))).toBeUndefined();
  });
});
