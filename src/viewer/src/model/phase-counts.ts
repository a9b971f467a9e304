// SPDX-License-Identifier: Apache-2.0
// Reads and writes in the chosen phases, per structure and per thread.

import type { Report } from "../data/report";

export interface Counts {
  /** Per entry of the report's structures. */
  reads: Float64Array;
  writes: Float64Array;
  /** Threads that accessed the structure. */
  threads: Uint32Array;
  /** Per thread (position), over all whole structures. */
  threadAccesses: Float64Array;
  /** Accesses of the run in these phases. Shares are relative to this number. */
  accesses: number;
}

const kept = new WeakMap<Report, { phases: readonly number[]; counts: Counts }>();

/** Adds up the cells of the chosen phases; the latest answer is kept. */
export function countsOf(report: Report, phases: readonly number[]): Counts {
  const latest = kept.get(report);
  if (latest && latest.phases === phases) return latest.counts;
  const counts = addedUp(report, phases);
  kept.set(report, { phases, counts });
  return counts;
}

function addedUp(report: Report, phases: readonly number[]): Counts {
  const { structures, cells, threads } = report;
  const counts: Counts = {
    reads: new Float64Array(structures.length),
    writes: new Float64Array(structures.length),
    threads: new Uint32Array(structures.length),
    threadAccesses: new Float64Array(threads.length),
    accesses: 0,
  };
  // The position of the structure (plus 1) for which a thread was last counted.
  const seen = new Uint32Array(threads.length);
  structures.forEach(({ instance }, s) => {
    for (const phase of phases) {
      const at = s * report.phases.length + phase;
      for (let i = cells.begin[at]!; i < cells.begin[at + 1]!; i++) {
        const row = cells.row[i]!;
        counts.reads[s]! += cells.reads[i]!;
        counts.writes[s]! += cells.writes[i]!;
        if (instance < 0) counts.threadAccesses[row]! += cells.reads[i]! + cells.writes[i]!;
        if (seen[row] !== s + 1) {
          seen[row] = s + 1;
          counts.threads[s]!++;
        }
      }
    }
  });
  counts.accesses = phases.reduce(
    (sum, phase) => sum + report.phases[phase]!.reads + report.phases[phase]!.writes,
    0,
  );
  return counts;
}

/** Reads and writes of the entry at a position, by phase. */
export function countsByPhase({ cells, phases }: Report, position: number): Float64Array {
  return Float64Array.from(phases, (_, phase) => {
    const at = position * phases.length + phase;
    let sum = 0;
    for (let i = cells.begin[at]!; i < cells.begin[at + 1]!; i++) {
      sum += cells.reads[i]! + cells.writes[i]!;
    }
    return sum;
  });
}
