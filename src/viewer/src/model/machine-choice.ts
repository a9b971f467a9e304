// SPDX-License-Identifier: Apache-2.0
// The report on the machine that the reader chose: 0 is the one that it was written for.

import type { OnMachine, Report } from "../data/report";

const made = new WeakMap<OnMachine, Report>();

/** `report` on machine number `chosen`. The same object for the same report and machine. */
export function reportOn(report: Report, chosen: number): Report {
  const other = report.elsewhere?.[chosen - 1];
  if (!other) return report;
  let shown = made.get(other);
  if (!shown) made.set(other, (shown = changedTo(report, other)));
  return shown;
}

function changedTo(report: Report, other: OnMachine): Report {
  const { machine, findings, traffic, verdict, laid_out, readings, line_traffic: lines } = other;
  return {
    ...report,
    run: { ...report.run, verdict, laid_out },
    threads: report.threads.map((thread, t) => ({ ...thread, ...other.threads[t]! })),
    // A single instance has the text of its structure.
    structures: report.structures.map((entry, s) => ({
      ...entry,
      reading: readings[entry.parent >= 0 ? entry.parent : s] ?? entry.reading,
    })),
    machine,
    findings,
    traffic,
    ...(report.memory_lines && lines
      ? {
          memory_lines: {
            ...report.memory_lines,
            traffic: lines.accesses,
            local: lines.local,
            remote: lines.remote,
            thread_local: lines.thread_local,
            thread_remote: lines.thread_remote,
          },
        }
      : {}),
  };
}

/** The names of the machines, the one of the report first. */
export function machineNames({ machine, run, elsewhere = [] }: Report): string[] {
  const first = run.laid_out ? machine.name : `${machine.name} (recorded)`;
  return [first, ...elsewhere.map((other) => other.machine.name)];
}
