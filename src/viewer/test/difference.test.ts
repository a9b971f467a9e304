// SPDX-License-Identifier: Apache-2.0
import { hcl } from "d3-color";
import { describe, expect, it } from "vitest";
import { differenceColour } from "../src/draw/difference";
import { differenceOf, mostDifferent, overlap } from "../src/model/difference";
import type { Measure } from "../src/model/matrix";
import { matrix } from "./matrices";

/** Pages 0 to 3; threads 0 and 1 use page 0, thread 2 uses pages 1 and 2, no thread page 3. */
const three = matrix(
  3,
  [1, 1, 2, 1],
  [
    { row: 0, column: 0, reads: 8 },
    { row: 1, column: 0, reads: 4 },
    { row: 2, column: 1, writes: 6 },
    { row: 2, column: 2, reads: 20 },
  ],
);

/** The difference of two groups of its threads. */
function difference(a: number[], b: number[], measure: Measure = "both") {
  const group = (lines: number[]) => ({ matrix: three, lines, threads: lines.length });
  return differenceOf(group(a), group(b), measure);
}

describe("the difference of two groups", () => {
  it("compares means per page and thread", () => {
    const { a, b, scale, largest } = difference([0, 1], [2]);
    expect([...a]).toEqual([6, 0, 0, 0]);
    expect([...b].map((value) => value || 0)).toEqual([0, 6, 10, 0]);
    expect(scale.end).toBe(10);
    expect(largest).toBe(10);
  });

  it("follows the measure", () => {
    const { b } = difference([0], [2], "writes");
    expect([...b].map((value) => value || 0)).toEqual([0, 6, 0, 0]);
  });

  it("lists columns by the difference of all their pages", () => {
    expect(mostDifferent(three, difference([0, 1], [2]), 2)).toEqual([2, 0]);
  });

  it("says how much both use the same pages", () => {
    expect(overlap(three, difference([0], [2]))).toBe(0);
    expect(overlap(three, difference([0], [1]))).toBe(1);
    expect(overlap(three, difference([0, 2], [2]))).toBeCloseTo(26 / 34);
    expect(overlap(three, difference([0], [1], "writes"))).toBe(0);
  });
});

describe("its colours", () => {
  it.each(["light", "dark", "grey"] as const)("grow from equal to either side: %s", (theme) => {
    const lightness = (t: number) => hcl(differenceColour(t, theme)).l;
    for (const side of [-1, 1]) {
      const steps = [0, 0.01, 0.3, 0.6, 1].map((t) => Math.abs(lightness(side * t) - lightness(0)));
      expect(steps).toEqual(steps.slice().sort((a, b) => a - b));
      expect(steps[1]).toBeGreaterThan(2);
      expect(steps[4]).toBeGreaterThan(35);
    }
  });
});
