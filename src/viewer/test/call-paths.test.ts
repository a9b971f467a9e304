// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Report, Structure } from "../src/data/report";
import { callPaths, pathMeasures } from "../src/model/call-paths";
import { codePaths, knowsCode } from "../src/model/code-paths";
import {
  matchingFrames,
  matchingShare,
  neighbour,
  pathsCsv,
  shownFrames,
} from "../src/model/flame";

function structure(name: string, kind: string, callStack: string[]): Partial<Structure> {
  return { name, kind, call_stack: callStack, instance: -1, file: "", line: 0 };
}

const MAIN = "main (src/a.c:9)";
/** Two structures of one call path, one of another, and a global variable; one phase, one thread. */
const REPORT = {
  run: { program: "/bin/solver", recorder: {}, reads: 100, writes: 0 },
  threads: [{}],
  structures: [
    structure("a", "heap", ["make (src/a.c:3)", MAIN]),
    structure("b", "heap", ["make (src/a.c:3)", MAIN]),
    structure("c", "heap", ["other (b.c:1)", MAIN]),
    structure("g", "global", []),
  ],
  phases: [{ reads: 100, writes: 0 }],
  cells: {
    begin: [0, 1, 2, 3, 4],
    row: [0, 0, 0, 0],
    reads: [20, 30, 40, 10],
    writes: [0, 0, 0, 0],
  },
  traffic: { nodes: [0, 1], local: [20, 0, 40, 10], remote: [0, 30, 0, 0] },
  first_touches: { begin: [0, 2, 2, 3, 3], pages: [5, 1, 2], place: [1, 2, 0] },
  lines: {
    begin: [0, 2, 3, 4, 5],
    phase: [0, 0, 0, 0, 0],
    place: [1, 2, 2, 0, 2],
    reads: [15, 5, 30, 40, 10],
    writes: [0, 0, 0, 0, 0],
  },
  places: {
    function: ["", "init", "fill"],
    file: ["", "/x/a.c", "/x/a.c"],
    line: [0, 7, 8],
    loop: [-1, -1, 0],
  },
  loops: [{ file: "/x/a.c", first: 6, last: 9, kind: "for" }],
} as unknown as Report;

describe("call paths", () => {
  it("add up what structures of one path have, the largest first", () => {
    const frames = callPaths(REPORT, [0], "accesses");
    expect(frames.map(({ name, value, depth, begin }) => [name, value, depth, begin])).toEqual([
      ["solver", 100, 0, 0],
      ["main (a.c:9)", 90, 1, 0],
      ["make (a.c:3)", 50, 2, 0],
      ["b", 30, 3, 0],
      ["a", 20, 3, 30],
      ["other (b.c:1)", 40, 2, 50],
      ["c", 40, 3, 50],
      ["global variables", 10, 1, 90],
      ["g", 10, 2, 90],
    ]);
    expect(frames[1]).toMatchObject({ title: MAIN, file: "src/a.c", line: 9 });
  });

  it("have remote accesses and the places of first touches", () => {
    expect(pathMeasures(REPORT)).toEqual(["accesses", "remote", "touches"]);
    expect(callPaths(REPORT, [0], "remote").map(({ name }) => name)).toEqual([
      ...["solver", "main (a.c:9)", "make (a.c:3)", "b"],
    ]);
    const touched = callPaths(REPORT, [0], "touches", 0);
    expect(touched.slice(3).map(({ name, value }) => [name, value])).toEqual([
      ["a", 6],
      ["init (a.c:7)", 5],
      ["fill (a.c:8)", 1],
    ]);
    expect(touched.at(-1)!.position).toBe(0);
    expect(callPaths(REPORT, [], "accesses")).toHaveLength(1);
  });

  it("show callers and what is below the frame that takes the whole width", () => {
    const frames = callPaths(REPORT, [0], "accesses");
    expect(shownFrames(frames, 2)).toEqual([
      ...[0, 1, 2].map((index) => ({ index, left: 0, width: 1 })),
      { index: 3, left: 0, width: 0.6 },
      { index: 4, left: 0.6, width: 0.4 },
    ]);
  });

  it("are walked with steps", () => {
    const frames = callPaths(REPORT, [0], "accesses");
    const shown = shownFrames(frames, 0);
    expect(neighbour(frames, shown, 0, "called")).toBe(1);
    expect(neighbour(frames, shown, 4, "after")).toBe(6);
    expect(neighbour(frames, shown, 3, "before")).toBe(3);
    expect(neighbour(frames, shown, 6, "caller")).toBe(5);
    expect(neighbour(frames, shown, 0, "caller")).toBe(0);
  });

  it("are searched, and what is below a match counts once", () => {
    const frames = callPaths(REPORT, [0], "accesses");
    expect(matchingShare(frames, matchingFrames(frames, "A.c"))).toBe(0.9);
    expect(matchingShare(frames, matchingFrames(frames, "b.c"))).toBe(0.4);
    expect(matchingFrames(frames, "src").size).toBe(0);
    expect(matchingFrames(frames, " ").size).toBe(0);
  });

  it("are saved with their paths", () => {
    const { columns, rows } = pathsCsv(callPaths(REPORT, [0], "remote"), "remote_accesses");
    expect(columns).toEqual(["path", "kind", "remote_accesses"]);
    expect(rows.at(-1)).toEqual(["solver;main (a.c:9);make (a.c:3);b", "structure", 30]);
  });
});

describe("the code that accesses memory", () => {
  it("is functions with their loops and lines, and what they use", () => {
    expect(knowsCode(REPORT)).toBe(true);
    const frames = codePaths(REPORT, [0], "accesses");
    expect(frames.map(({ name, value, depth }) => [name, value, depth])).toEqual([
      ["solver", 100, 0],
      ["fill (a.c)", 45, 1],
      ["for loop, lines 6–9", 45, 2],
      ["line 8", 45, 3],
      ["b", 30, 4],
      ["g", 10, 4],
      ["a", 5, 4],
      ["unknown function", 40, 1],
      ["c", 40, 2],
      ["init (a.c)", 15, 1],
      ["line 7", 15, 2],
      ["a", 15, 3],
    ]);
    expect(frames[3]).toMatchObject({ kind: "place", file: "/x/a.c", line: 8, position: -1 });
    expect(codePaths(REPORT, [0], "accesses", 0)[0]!.value).toBe(20);
  });

  it("shares the remote accesses of a structure among all of its lines", () => {
    const half = { ...REPORT, traffic: { ...REPORT.traffic, remote: [10, 0, 0, 10] } };
    const frames = codePaths(half as unknown as Report, [0], "remote");
    expect(frames.map(({ name, value }) => [name, value])).toEqual([
      ["solver", 20],
      ["fill (a.c)", 12.5],
      ["for loop, lines 6–9", 12.5],
      ["line 8", 12.5],
      ["g", 10],
      ["a", 2.5],
      ["init (a.c)", 7.5],
      ["line 7", 7.5],
      ["a", 7.5],
    ]);
  });

  it("has the places of first touches, of the chosen phases only", () => {
    const frames = codePaths(REPORT, [0], "touches");
    expect(
      frames.filter(({ depth }) => depth === 1).map(({ name, value }) => [name, value]),
    ).toEqual([
      ["init (a.c)", 5],
      ["unknown function", 2],
      ["fill (a.c)", 1],
    ]);
    expect(codePaths(REPORT, [], "accesses")).toHaveLength(1);
    expect(knowsCode({ ...REPORT, lines: { ...REPORT.lines, place: [] } } as never)).toBe(false);
  });
});
