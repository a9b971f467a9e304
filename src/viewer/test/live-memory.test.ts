// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { LiveMemory, LiveStructure } from "../src/data/processes";
import { liveStructureTable, stripText, usersText } from "../src/model/live-memory";

function structure(strip: number[], users?: LiveStructure["users"]): LiveStructure {
  const names = { name: "grid", kind: "heap", file: "", source: "", policy: "default" };
  const bytes = { anonymous: 8192, files: 0, huge: 0, swapped: 0 };
  const positions = [[100], []];
  return { ...names, ...bytes, nodes: [8192, 0], strip, positions, ...(users && { users }) };
}

describe("strips", () => {
  it("are told as ranges of equal nodes", () => {
    expect(stripText(structure([0, 0, 1, 1]))).toBe("1-2: node 0, 3-4: node 1");
    expect(stripText(structure([7, -1, -2, -3]))).toBe(
      "1: node 7, 2: unknown, 3: several nodes, 4: not in memory",
    );
    expect(stripText(structure([3, 3, 3]))).toBe("1-3: node 3");
  });
});

describe("structures of several processes", () => {
  it("name their only process, or count them", () => {
    expect(usersText({ pid: 7, count: 1, shared: false })).toBe("pid 7");
    expect(usersText({ pid: null, count: 3, shared: false })).toBe("3");
    expect(usersText({ pid: null, count: 3, shared: true })).toBe("3 shared");
  });

  it("are saved with their processes instead of a number", () => {
    const node = { anonymous: 0, files: 0, shared: 0, huge: 0, threads: 0, bound: 0, cpus: "" };
    const memory: LiveMemory = {
      time: "",
      nodes: [
        { node: 0, ...node },
        { node: -1, ...node },
      ],
      structures: [structure([0, 0], { pid: null, count: 2, shared: true })],
      more_structures: 0,
      notes: [],
    };
    const { columns, rows } = liveStructureTable(memory);
    expect(columns).toEqual([
      ...["processes", "structure", "kind", "file", "source"],
      ...["anonymous", "files", "huge", "swapped", "node_0", "node_unknown"],
      ...["policy", "sixteenths"],
    ]);
    expect(rows[0]).toEqual([
      ...["2 shared", "grid", "heap", "", "", 8192, 0, 0, 0, 8192, 0],
      ...["default", "1-2: node 0"],
    ]);
    expect(liveStructureTable(memory, 42).columns[0]).toBe("pid");
  });
});
