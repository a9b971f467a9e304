// SPDX-License-Identifier: Apache-2.0
// Small reports made by hand.

import type { Phase, Report, Structure } from "../src/data/report";
import type { Matrix } from "../src/model/matrix";
import { matrixOf } from "../src/model/matrix";

export interface Entry {
  row: number;
  column: number;
  reads?: number;
  writes?: number;
}

export function structure(named: Partial<Structure> = {}): Structure {
  return {
    structure: 0,
    name: "A",
    kind: "heap",
    size: 0,
    pages: 0,
    instances: 1,
    module: "",
    owner: "program",
    function: "",
    file: "",
    line: 0,
    call_stack: [],
    named: true,
    reads: 0,
    writes: 0,
    threads: 0,
    touched_pages: 0,
    pages_per_column: 1,
    reading: { see: [], advice: [], verdict: "" },
    instance: -1,
    parent: -1,
    address_offset: -1,
    ...named,
  };
}

export function phase(named: Partial<Phase> = {}): Phase {
  return {
    name: "run",
    file: "",
    line: 0,
    start_ns: 0,
    end_ns: 0,
    repetitions: 1,
    reads: 0,
    writes: 0,
    ...named,
  };
}

/** One structure with columns of the given pages; columns without an entry are untouched. */
export function report(
  threads: number,
  pages: number[],
  cells: Entry[],
  first: Entry[] = [],
): Report {
  const touched = pages.map((size, c) =>
    [...cells, ...first].some(({ column }) => column === c) ? size : 0,
  );
  let end = 0;
  const start = pages.map((size) => (end += size) - size);
  return {
    threads: Array.from({ length: threads }, (_, thread) => ({ thread })),
    findings: [],
    structures: [structure()],
    phases: [phase()],
    columns: {
      begin: Uint32Array.of(0, pages.length),
      start: Uint32Array.from(start),
      pages: Uint32Array.from(pages),
      touched: Uint32Array.from(touched),
    },
    cells: {
      begin: Uint32Array.of(0, cells.length),
      row: Uint32Array.from(cells, ({ row }) => row),
      column: Uint32Array.from(cells, ({ column }) => column),
      reads: Float64Array.from(cells, ({ reads = 0 }) => reads),
      writes: Float64Array.from(cells, ({ writes = 0 }) => writes),
    },
    first_touches: {
      begin: Uint32Array.of(0, first.length),
      row: Uint32Array.from(first, ({ row }) => row),
      column: Uint32Array.from(first, ({ column }) => column),
      pages: Uint32Array.from(first, () => 1),
      place: Uint32Array.from(first, () => 0),
    },
  } as unknown as Report;
}

export function matrix(...parts: Parameters<typeof report>): Matrix {
  return matrixOf(report(...parts), 0);
}
