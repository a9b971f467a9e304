// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import {
  changed,
  positionOf,
  rankInAddress,
  readAddress,
  readRanges,
  sideInAddress,
  startOf,
  writeAddress,
  writeRanges,
} from "../src/model/page-state";
import type { Extents, PageState } from "../src/model/page-state";

const EXTENTS: Extents = {
  structures: [
    { structure: 7, instance: -1 },
    { structure: 2, instance: -1 },
    { structure: 2, instance: 0 },
    { structure: 2, instance: 5 },
  ],
  threads: 64,
  phases: 6,
  machines: 3,
  lines: true,
};

const EVERYTHING: PageState = {
  structure: 2,
  instance: 5,
  view: { x0: 10.5, x1: 2000, y0: 0, y1: 12 },
  machine: 2,
  count: "accesses",
  measure: "writes",
  scale: "log",
  phases: [0, 2, 3, 4],
  order: "sharing",
  pageUnit: "2m",
  groupA: [0, 1, 2, 9],
  groupB: [63],
  colourBy: "node",
  theme: "grey",
  table: { search: "a b&c=<d>#%", order: { key: "name", descending: false }, minor: true },
  cells: "remote",
  columns: "class",
  rank: -1,
  side: "",
  changes: { key: "foreign", descending: false },
  results: { key: "migrations", descending: false },
};

describe("the address", () => {
  it("restores every part", () => {
    expect(readAddress(`#${writeAddress(EVERYTHING)}`, EXTENTS)).toEqual(EVERYTHING);
  });

  it("holds only what differs from the start", () => {
    expect(writeAddress(startOf(EXTENTS))).toBe("v=1&structure=7");
    expect(readAddress("#structure=2", EXTENTS)).toEqual({ ...startOf(EXTENTS), structure: 2 });
  });

  it("keeps the run of a comparison that is shown", () => {
    const extents: Extents = { ...EXTENTS, side: "b" };
    const address = writeAddress(startOf(extents));
    expect(address).toBe("v=1&run=b&structure=7");
    expect(sideInAddress(`#${address}`)).toBe("b");
    expect(readAddress(address, extents)?.side).toBe("b");
    expect(sideInAddress("#run=c")).toBe("");
  });

  it("chooses no order of threads where there are none", () => {
    const state = readAddress("#order=node&pages=2m&a=0-3&phases=1", {
      ...EXTENTS,
      threads: 0,
      phases: 0,
    });
    expect(state).toEqual(startOf(EXTENTS));
  });

  it("keeps the rank of a job that is shown", () => {
    const extents = { ...EXTENTS, rank: 3 };
    const address = writeAddress(startOf(extents));
    expect(address).toBe("v=1&rank=3&structure=7");
    expect(rankInAddress(`#${address}`)).toBe(3);
    expect(readAddress(address, extents)?.rank).toBe(3);
    expect(readAddress("#rank=5&structure=2", extents)?.rank).toBe(3);
    expect(["", "#v=1", "#rank=-1", "#rank=x"].map(rankInAddress)).toEqual(
      Array(4).fill(undefined),
    );
  });

  it("says what is counted only where there is a choice", () => {
    expect(readAddress("#structure=2&count=accesses", EXTENTS)?.count).toBe("accesses");
    const [only, unknown] = [{ ...EXTENTS, lines: false }, "#structure=2&count=bytes"];
    expect(readAddress("#structure=2&count=accesses", only)?.count).toBe("lines");
    expect(readAddress(unknown, EXTENTS)?.count).toBe("lines");
  });

  it("starts with the structure that is used most", () => {
    expect(startOf({ ...EXTENTS, first: 1 }).structure).toBe(2);
  });

  it("has no state if it names another place or version, or is too long", () => {
    expect(readAddress("", EXTENTS)).toBeUndefined();
    expect(readAddress("#structure", EXTENTS)).toBeUndefined();
    expect(readAddress("#v=2&structure=2", EXTENTS)).toBeUndefined();
    expect(readAddress(`#structure=2&search=${"x".repeat(30_000)}`, EXTENTS)).toBeUndefined();
  });

  it.each([
    "structure=99&instance=4",
    "structure=-1",
    "structure=1e3",
    "structure=__proto__&measure=constructor&order=toString",
    "view=0,0,0,0",
    "view=5,1,0,3",
    "view=NaN,1,2,3",
    "view=1,2,3",
    "phases=77-90",
    "phases=0-5",
    "a=64-4000000000&b=x",
    "theme=<script>alert(1)</script>",
    "sort=__proto__-up",
    "%E0%A4%A=%E0&&&==&v=1",
  ])("leaves out what the report does not have: %s", (address) => {
    expect(readAddress(`#${address}`, EXTENTS)).toEqual(startOf(EXTENTS));
  });
});

describe("ranges", () => {
  it("are short and restore the numbers", () => {
    expect(writeRanges([0, 1, 2, 5, 7, 8])).toBe("0-2,5,7-8");
    expect(readRanges("0-2,5,7-8", 64)).toEqual([0, 1, 2, 5, 7, 8]);
  });

  it("are read as people write them, and end where the report does", () => {
    expect(readRanges(" 60 – 99 , 3, 3,oops", 64)).toEqual([3, 60, 61, 62, 63]);
    expect(readRanges(null, 64)).toEqual([]);
  });
});

describe("a change", () => {
  const zoomed = { ...startOf(EXTENTS), view: { x0: 1, x1: 2, y0: 0, y1: 1 } };

  it("to another structure shows it whole and summed", () => {
    const next = changed({ ...zoomed, instance: 3 }, { structure: 2 });
    expect([next.view, next.instance]).toEqual([null, -1]);
  });

  it("of the measure keeps the view", () => {
    expect(changed(zoomed, { measure: "reads" }).view).toBe(zoomed.view);
  });
});

describe("the position", () => {
  it("is the instance's, else the whole structure's, else the first", () => {
    expect(positionOf({ structure: 2, instance: 5 }, EXTENTS.structures)).toBe(3);
    expect(positionOf({ structure: 2, instance: 9 }, EXTENTS.structures)).toBe(1);
    expect(positionOf({ structure: 99, instance: -1 }, EXTENTS.structures)).toBe(0);
  });
});
