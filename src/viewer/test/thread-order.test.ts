// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Thread } from "../src/data/report";
import { arrange, inOrder } from "../src/model/thread-order";
import { clusterOrder } from "../src/model/cluster";
import { matrix } from "./matrices";
import type { Entry } from "./matrices";

const pages = (count: number) => Array.from({ length: count }, () => 1);

/** Each thread uses the four pages of its part, as `partOf` says; `team` threads have one part. */
function teams(threads: number, team: number, partOf: (thread: number) => number) {
  const parts = threads / team;
  const cells: Entry[] = [];
  for (let row = 0; row < threads; row++) {
    for (let page = 0; page < 4; page++) {
      cells.push({ row, column: partOf(row) * 4 + page, reads: 10 + (row % 3) });
    }
  }
  return matrix(threads, pages(parts * 4), cells);
}

describe("the order by pages shared", () => {
  it("brings together threads that use the same pages, wherever their numbers are", () => {
    // Thread t works with t + 16, t + 32 and t + 48.
    const order = clusterOrder(teams(64, 4, (thread) => (thread * 7) % 16));
    for (let i = 0; i < 64; i += 4) {
      expect(new Set([...order.subarray(i, i + 4)].map((thread) => thread % 16)).size).toBe(1);
    }
  });

  it("follows the pages where threads share nothing", () => {
    const order = clusterOrder(teams(16, 1, (thread) => (thread * 5) % 16));
    const parts = [...order].map((thread) => (thread * 5) % 16);
    expect(parts).toEqual(parts.slice().sort((a, b) => a - b));
  });

  it("puts a shuffled chain of neighbours in order", () => {
    // Thread t shares a page with the one before and the one after it in a shuffled chain.
    const place = [4, 0, 6, 2, 7, 1, 5, 3];
    const cells = place.flatMap((at, row) => [
      { row, column: at, reads: 5 },
      { row, column: at + 1, reads: 5 },
    ]);
    const order = clusterOrder(matrix(8, pages(9), cells));
    expect([...order].map((row) => place[row])).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("has every thread once, those without accesses last", () => {
    const order = clusterOrder(
      matrix(5, pages(2), [
        { row: 4, column: 0, reads: 1 },
        { row: 1, column: 1, reads: 1 },
        { row: 2, column: 0, reads: 1 },
      ]),
    );
    expect([...order].sort()).toEqual([0, 1, 2, 3, 4]);
    expect([...order.subarray(3)]).toEqual([0, 3]);
    expect([...clusterOrder(matrix(3, [], []))]).toEqual([0, 1, 2]);
  });

  it("is the same each time, also for 3000 threads on the same pages", () => {
    const everything = () =>
      matrix(
        3000,
        pages(20),
        Array.from({ length: 60_000 }, (_, i) => ({
          row: Math.floor(i / 20),
          column: i % 20,
          reads: 1 + ((i * 7919) % 13),
        })),
      );
    const order = clusterOrder(everything());
    expect(new Set(order).size).toBe(3000);
    expect(clusterOrder(everything())).toEqual(order);
  });
});

describe("the order by node", () => {
  const nodes = [[1], [0], [1], [0, 1], [0], []];
  const threads = nodes.map((nodes, thread) => ({ thread, nodes })) as unknown as Thread[];
  const one = matrix(6, pages(1), [{ row: 2, column: 0, reads: 8 }], [{ row: 2, column: 0 }]);

  it("groups threads of a node, and last those of several or none", () => {
    const { rows, lines, groups } = arrange("node", one, threads);
    expect([...rows]).toEqual([1, 4, 0, 2, 3, 5]);
    expect([...lines]).toEqual([2, 0, 3, 4, 1, 5]);
    expect(groups).toEqual([
      { name: "node 0", begin: 0, end: 2 },
      { name: "node 1", begin: 2, end: 4 },
      { name: "several or unknown nodes", begin: 4, end: 6 },
    ]);
  });

  it("moves the rows of a matrix with their entries", () => {
    const moved = inOrder(one, arrange("node", one, threads));
    expect([...moved.accesses.rowBegin]).toEqual([0, 0, 0, 0, 1, 1, 1]);
    expect([...moved.firstTouches.rowBegin]).toEqual([0, 0, 0, 0, 1, 1, 1]);
    expect(moved.accesses.reads[0]).toBe(8);
    expect(inOrder(one, arrange("number", one, threads))).toBe(one);
  });
});
