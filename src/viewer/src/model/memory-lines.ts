// SPDX-License-Identifier: Apache-2.0
// Converts a report to memory lines, in the form of a report in accesses: lines from memory stand
// for reads, lines back to memory for writes.

import type { Cells, Column, Report, Structure } from "../data/report";

interface Counted {
  row: Column;
  column: Column;
  reads: Column;
  writes: Column;
}

/** The cells that have lines, and for each its index among all. */
export function cellsInLines(cells: Omit<Cells, "begin">): Counted & { from: Uint32Array } {
  const fetched = cells.memory_lines ?? new Uint8Array(cells.row.length);
  const written = cells.written_lines ?? new Uint8Array(cells.row.length);
  const from = new Uint32Array(cells.row.length);
  let end = 0;
  for (let i = 0; i < from.length; i++) if (fetched[i]! + written[i]! > 0) from[end++] = i;
  const kept = from.subarray(0, end);
  return {
    from: kept,
    row: Uint32Array.from(kept, (i) => cells.row[i]!),
    column: Uint32Array.from(kept, (i) => cells.column[i]!),
    reads: Float64Array.from(kept, (i) => fetched[i]!),
    writes: Float64Array.from(kept, (i) => written[i]!),
  };
}

const made = new WeakMap<Report, Report>();

/** `report` in memory lines; itself, if it has none. The same object for the same report. */
export function reportInLines(report: Report): Report {
  if (!report.memory_lines) return report;
  let counted = made.get(report);
  if (!counted) made.set(report, (counted = inLines(report, report.memory_lines)));
  return counted;
}

function inLines(report: Report, lines: NonNullable<Report["memory_lines"]>): Report {
  const { from, ...cells } = cellsInLines(report.cells);
  const begin = beginsAmong(from, report.cells.begin);
  const phases = report.phases.map((phase, p) => ({
    ...phase,
    reads: lines.fetched[p]!,
    writes: lines.written[p]!,
  }));
  const { local, remote, thread_local, thread_remote } = lines;
  return {
    ...report,
    run: {
      ...report.run,
      recorder: { ...report.run.recorder, counts: "memory lines" },
      reads: phases.reduce((sum, { reads }) => sum + reads, 0),
      writes: phases.reduce((sum, { writes }) => sum + writes, 0),
    },
    phases,
    structures: report.structures.map((structure, s) => {
      const rows = [begin[s * phases.length]!, begin[(s + 1) * phases.length]!] as const;
      return { ...structure, ...summed(cells, ...rows) };
    }),
    cells: { begin, ...cells },
    sharing: { ...report.sharing, accesses: lines.shared },
    traffic: {
      ...report.traffic,
      accesses: lines.traffic,
      ...{ local, remote, thread_local, thread_remote },
    },
  };
}

/** The beginnings of parts, as positions in the list of chosen indices, which ascend. */
function beginsAmong(chosen: Uint32Array, begin: Column): Uint32Array {
  let at = 0;
  return Uint32Array.from(begin, (first) => {
    while (at < chosen.length && chosen[at]! < first) at++;
    return at;
  });
}

function summed(
  { row, reads, writes }: Counted,
  first: number,
  end: number,
): Pick<Structure, "reads" | "writes" | "threads"> {
  const sum = { reads: 0, writes: 0 };
  const threads = new Set<number>();
  for (let i = first; i < end; i++) {
    sum.reads += reads[i]!;
    sum.writes += writes[i]!;
    threads.add(row[i]!);
  }
  return { ...sum, threads: threads.size };
}

/** Position of the whole structure with most of what the report counts; 0 if there is none. */
export function mostUsed({ structures }: Report): number {
  let best = 0;
  structures.forEach(({ instance, reads, writes }, s) => {
    const { reads: r = 0, writes: w = 0 } = structures[best]!;
    if (instance < 0 && reads + writes > r + w) best = s;
  });
  return best;
}
