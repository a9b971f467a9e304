// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { ComparedSide, ComparedStructure } from "../src/data/comparison";
import { changeOf, changeRows, minorCount, onlyIn } from "../src/model/changes";
import type { ChangeOrder } from "../src/model/changes";

function side(named: Partial<ComparedSide>): ComparedSide {
  return {
    position: 0,
    alike: 1,
    size: 4096,
    instances: 1,
    accesses: 0,
    share: 0,
    foreign: null,
    remote: null,
    first: null,
    first_share: null,
    nodes: [],
    ...named,
  };
}

function structure(
  name: string,
  a: Partial<ComparedSide> | null,
  b: Partial<ComparedSide> | null,
): ComparedStructure {
  const sides: ComparedStructure["sides"] = [a && side(a), b && side(b)];
  return { name, kind: "heap", function: "main", file: "a.c", line: 1, sides };
}

const STRUCTURES = [
  structure("much", { share: 0.9, foreign: 0.5 }, { share: 0.2, foreign: 0.4 }),
  structure("cured", { share: 0.09, foreign: 0.9 }, { share: 0.3, foreign: 0.1 }),
  structure("came", null, { share: 0.5, foreign: 0.3 }),
  structure("tiny", { share: 0.00001 }, { share: 0.00002 }),
];

function names(order: ChangeOrder, search = "", minor = false): string[] {
  return changeRows(STRUCTURES, { search, minor, order }).map((row) => row.structure.name);
}

describe("the structures of two runs", () => {
  it("are in the order of the larger share, without minor ones", () => {
    expect(names({ key: "share", descending: true })).toEqual(["much", "came", "cured"]);
    expect(minorCount(STRUCTURES)).toBe(1);
    expect(names({ key: "name", descending: false }, "", true)).toContain("tiny");
  });

  it("can be in the order of a change", () => {
    expect(names({ key: "foreign", descending: true })).toEqual(["cured", "much", "came"]);
    expect(changeOf(STRUCTURES[1]!, "foreign")).toBeCloseTo(-0.8);
    expect(changeOf(STRUCTURES[2]!, "foreign")).toBeUndefined();
    expect(changeOf(STRUCTURES[3]!, "remote")).toBeUndefined();
  });

  it("are found by name, also minor ones", () => {
    expect(names({ key: "share", descending: true }, "TIN heap")).toEqual(["tiny"]);
  });

  it("say which run has them", () => {
    expect(STRUCTURES.map(onlyIn)).toEqual([undefined, undefined, "B", undefined]);
  });

  it("are all shown if no accesses were counted", () => {
    const touches = [structure("a", {}, {}), structure("b", {}, {})];
    expect(minorCount(touches)).toBe(0);
  });
});
