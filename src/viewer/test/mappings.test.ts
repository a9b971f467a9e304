// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Balance, Result } from "../src/data/balance";
import {
  activityText,
  bestOf,
  changeText,
  columnsOf,
  nodeSpans,
  rowsInOrder,
} from "../src/model/mappings";

function result(label: string, given: Partial<Result>): Result {
  const zero = { imbalance: 1, communication: 0, off_node: 0, migrations: 0, relabelled: 0 };
  const none = { migrated_bytes: 0, milliseconds: 0, core_memory: 0, cores_over: 0, levels: [] };
  const figures = { loads: [], traffic: [], moves: [], timeline: null };
  return { label, ...zero, ...none, ...figures, ...given };
}

const RESULTS = [
  result("now", { imbalance: 1.5, communication: 100 }),
  result("first", { imbalance: 1.2, communication: 80, migrations: 3 }),
  result("second", { imbalance: 1.1, communication: 120, migrations: 9 }),
];
const BALANCE: Balance = {
  ...{ file: "tasks.json", target: "M", tasks: 16, are_threads: false, messages: 4, cores: 4 },
  ...{ node_count: 2, unit: "messages", groups: ["0", "1"], levels: [], has_memory: false },
  ...{ cores_per_bar: 1, bar_nodes: [0, 0, 1, 1], cores_per_row: 2, row_nodes: [0, 1] },
  ...{ parts: 2, before: 2, results: RESULTS },
  activity: {
    work: [255, 0, 51, 0],
    communication: [0, 0, 102, 0],
    migration: [0, 0, 0, 0],
  },
};

describe("mappings", () => {
  it("are put in order below the present one", () => {
    expect(rowsInOrder(RESULTS, null)).toEqual([0, 1, 2]);
    expect(rowsInOrder(RESULTS, { key: "imbalance", descending: false })).toEqual([0, 2, 1]);
    expect(rowsInOrder(RESULTS, { key: "communication", descending: true })).toEqual([0, 2, 1]);
  });

  it("have a best one only where they differ", () => {
    expect(bestOf(RESULTS, "imbalance")).toBe(1.1);
    expect(bestOf(RESULTS, "cores_over")).toBeUndefined();
    expect(bestOf(RESULTS.slice(0, 2), "imbalance")).toBeUndefined();
  });

  it("have no columns of bytes or memory where none are known", () => {
    const keys = (balance: Balance) => columnsOf(balance).map(({ key }) => key);
    expect(keys(BALANCE)).not.toContain("off_node");
    expect(keys(BALANCE)).not.toContain("core_memory");
    expect(keys({ ...BALANCE, has_memory: true })).toContain("cores_over");
  });

  it("are told in a sentence", () => {
    expect(changeText(BALANCE, 1).replaceAll("\u202f", " ")).toBe(
      "first: imbalance 1.50 → 1.20, communication −20 %, 3 of 16 tasks migrate.",
    );
  });
});

describe("cores", () => {
  it("of one node are one span", () => {
    expect(nodeSpans([0, 0, 1, 0])).toEqual([
      { node: 0, begin: 0, end: 2 },
      { node: 1, begin: 2, end: 3 },
      { node: 0, begin: 3, end: 4 },
    ]);
  });

  it("are told with what they do in a part of the time", () => {
    const timeline = { at: 0, end: 4, ends: [], times: [] };
    const text = (row: number, part: number) =>
      activityText(BALANCE, timeline, row, part).replaceAll("\u202f", " ");
    expect(text(0, 1)).toBe("Cores 0–1, node 0, 3 s: idle");
    expect(text(1, 0)).toBe("Cores 2–3, node 1, 1 s: work 20 %, communication 40 %");
  });
});
