// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { drawPositions } from "../src/draw/positions";
import type { Surface } from "../src/draw/surface";

/** The rectangles that are filled, as `colour: left, top, width, height`. */
function filled(width: number, height: number, shares: number[][]): string[] {
  const rectangles: string[] = [];
  const context = {
    fillStyle: "",
    fillRect(...sides: number[]) {
      rectangles.push(`${this.fillStyle}: ${sides.join(", ")}`);
    },
  };
  const surface: Surface = {
    context: context as unknown as CanvasRenderingContext2D,
    width,
    height,
    ratio: 1,
  };
  drawPositions(surface, shares, (node) => `node ${node}`);
  return rectangles;
}

describe("positions", () => {
  it("are columns whose height is what is in memory", () => {
    expect(filled(10, 20, [[100, 50], []])).toEqual([
      "node 0: 0, 0, 5, 20",
      "node 0: 5, 10, 5, 10",
    ]);
  });

  it("have the nodes above each other", () => {
    expect(filled(4, 20, [[50], [25]])).toEqual(["node 0: 0, 10, 4, 10", "node 1: 0, 5, 4, 5"]);
  });

  it("show the smallest share, also at the top", () => {
    expect(filled(4, 20, [[100], [1]])).toEqual(["node 0: 0, 1, 4, 19", "node 1: 0, 0, 4, 1"]);
  });

  it("may all be empty", () => {
    expect(filled(4, 20, [[], []])).toEqual([]);
  });
});
