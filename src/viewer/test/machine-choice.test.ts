// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { OnMachine, Report } from "../src/data/report";
import { machineNames, reportOn } from "../src/model/machine-choice";
import { reportInLines } from "../src/model/memory-lines";
import { readAddress } from "../src/model/page-state";
import { structure } from "./matrices";

const traffic = (accesses: number) => ({
  nodes: [0, 1],
  thread_node: Uint8Array.of(0),
  accesses: Uint8Array.of(accesses),
  local: Uint8Array.of(accesses),
  remote: Uint8Array.of(0),
  thread_local: Uint8Array.of(accesses),
  thread_remote: Uint8Array.of(0),
});

const reading = (verdict: string) => ({ see: [], advice: [], verdict });

const elsewhere = {
  machine: { name: "two", nodes: [] },
  verdict: "On two nodes.",
  laid_out: "Shown as on two.",
  threads: [{ cpus: [], nodes: [1] }],
  findings: [{ kind: "serial first touch" }],
  readings: [reading("serial first touch")],
  traffic: traffic(7),
  line_traffic: traffic(3),
} as unknown as OnMachine;

/** One structure, and one of its instances. */
const report = {
  run: { verdict: "", laid_out: "", recorder: {}, program: "sum" },
  threads: [{ thread: 0, name: "main", cpus: [3], nodes: [0] }],
  structures: [
    structure({ structure: 4, instance: -1, parent: -1, reading: reading("") }),
    structure({ structure: 4, instance: 0, parent: 0, reading: reading("") }),
  ],
  phases: [],
  cells: {
    begin: Uint8Array.of(0),
    ...{ row: new Uint8Array(), column: new Uint8Array() },
    ...{ reads: new Uint8Array(), writes: new Uint8Array() },
  },
  findings: [],
  traffic: traffic(1),
  sharing: { accesses: Uint8Array.of(9) },
  memory_lines: {
    fetched: new Uint8Array(),
    written: new Uint8Array(),
    shared: Uint8Array.of(8),
    ...{ traffic: Uint8Array.of(1), local: Uint8Array.of(1), remote: Uint8Array.of(0) },
    ...{ thread_local: Uint8Array.of(1), thread_remote: Uint8Array.of(0) },
  },
  machine: { name: "one", nodes: [] },
  elsewhere: [elsewhere],
} as unknown as Report;

describe("the machine chosen", () => {
  it("is at first the one that the report was written for", () => {
    expect(reportOn(report, 0)).toBe(report);
    expect(reportOn(report, 5)).toBe(report);
  });

  it("has its own findings, traffic, nodes of threads, and texts", () => {
    const shown = reportOn(report, 1);
    expect(shown.machine.name).toBe("two");
    expect(shown.run).toMatchObject({ verdict: "On two nodes.", program: "sum" });
    expect(shown.findings).toBe(elsewhere.findings);
    expect(shown.traffic.accesses).toEqual(Uint8Array.of(7));
    expect(shown.threads[0]).toMatchObject({ name: "main", nodes: [1], cpus: [] });
    expect(shown.structures.map((entry) => entry.reading.verdict)).toEqual([
      "serial first touch",
      "serial first touch",
    ]);
    expect(shown.cells).toBe(report.cells);
  });

  it("counts lines where the page counts lines", () => {
    const lines = reportInLines(reportOn(report, 1));
    expect(lines.traffic.accesses).toEqual(Uint8Array.of(3));
    expect(lines.sharing.accesses).toEqual(Uint8Array.of(8));
  });

  it("is the same report each time, so that figures are not drawn again", () => {
    expect(reportOn(report, 1)).toBe(reportOn(report, 1));
  });

  it("is called by its name", () => {
    expect(machineNames(report)).toEqual(["one (recorded)", "two"]);
  });

  it("is in the address only if the page has it", () => {
    const extents = { structures: [{ structure: 4 }], threads: 1, phases: 1, machines: 2 };
    expect(readAddress("#machine=1", extents)?.machine).toBe(1);
    expect(readAddress("#machine=2", extents)?.machine).toBe(0);
    expect(readAddress("#machine=-1", extents)?.machine).toBe(0);
  });
});
