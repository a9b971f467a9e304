// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Report } from "../src/data/report";
import { accessPaths, knownCallers } from "../src/model/access-paths";
import type { PathMeasure } from "../src/model/call-paths";

/** main calls f in two lines; f is also called by unknown callers; a library has no names. */
const REPORT = {
  run: { program: "/bin/solver", recorder: {} },
  structures: [{ name: "a" }, { name: "b" }],
  traffic: { path_remote: [0, 6, 1, 0] },
  access_paths: {
    function: ["main", "f", "main", "f", "", "f", ""],
    file: ["/x/a.c", "/x/f.c", "/x/a.c", "/x/f.c", "", "/x/f.c", ""],
    line: [3, 7, 4, 7, 0, 8, 0],
    module: ["solver", "solver", "solver", "solver", "", "solver", "libm.so.6"],
    caller: [-1, 0, -1, 2, -1, 4, 0],
    position: [0, 0, 1, 1],
    phase: [0, 1, 0, 0],
    path: [1, 3, 5, 6],
    accesses: [50, 10, 5, 2],
  },
  touch_paths: {
    function: ["main", "init"],
    file: ["/x/a.c", "/x/a.c"],
    line: [9, 2],
    module: ["solver", "solver"],
    caller: [-1, 0],
    position: [1, 0],
    phase: [0, 1],
    path: [1, 1],
    accesses: [30, 4],
  },
} as unknown as Report;

function shown(report: Report, phases: number[], measure: PathMeasure, only = -1) {
  return accessPaths(report, phases, measure, only).map(
    ({ name, kind, value, depth }) => `${"  ".repeat(depth)}${name} [${kind}] ${value}`,
  );
}

describe("call paths of accesses", () => {
  it("lead from the run to the line of the access, and to its structure", () => {
    expect(shown(REPORT, [0, 1], "accesses")).toEqual([
      "solver [run] 67",
      "  main (a.c) [call] 62",
      "    f (f.c) [call] 60",
      "      line 7 [place] 60",
      "        a [structure] 60",
      "    code in libm.so.6 [call] 2",
      "      b [structure] 2",
      "  unknown callers [group] 5",
      "    f (f.c) [call] 5",
      "      line 8 [place] 5",
      "        b [structure] 5",
    ]);
  });

  it("are those of a phase and of a structure", () => {
    expect(shown(REPORT, [1], "accesses")[0]).toBe("solver [run] 10");
    expect(shown(REPORT, [0, 1], "accesses", 1)[0]).toBe("solver [run] 7");
  });

  it("have the remote accesses of the chosen machine", () => {
    expect(shown(REPORT, [0, 1], "remote").filter((line) => line.includes("main"))).toEqual([
      "  main (a.c) [call] 6",
    ]);
  });

  it("have the source of the most used call", () => {
    const main = accessPaths(REPORT, [0, 1], "accesses")[1]!;
    expect([main.file, main.line]).toEqual(["/x/a.c", 3]);
  });

  it("of first touches lead to the pages of each structure", () => {
    expect(shown(REPORT, [0, 1], "touches")).toEqual([
      "solver [run] 34",
      "  main (a.c) [call] 34",
      "    init (a.c) [call] 34",
      "      line 2 [place] 34",
      "        b [structure] 30",
      "        a [structure] 4",
    ]);
    expect(shown(REPORT, [1], "touches", 0)[0]).toBe("solver [run] 4");
    expect(shown(REPORT, [0], "touches", 0)[0]).toBe("solver [run] 0");
  });

  it("are known only if the report has them", () => {
    const known = { ...REPORT, traffic: { ...REPORT.traffic, nodes: [0, 1] } };
    expect(knownCallers(known)).toEqual(["accesses", "remote", "touches"]);
    const { access_paths: accesses, touch_paths: touches, ...without } = known;
    expect(knownCallers({ ...without, touch_paths: touches! })).toEqual(["touches"]);
    expect(knownCallers({ ...without, access_paths: accesses! })).toEqual(["accesses", "remote"]);
    expect(knownCallers(without)).toEqual([]);
  });
});
