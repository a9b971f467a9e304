// SPDX-License-Identifier: Apache-2.0
// Accesses over the time of a run, as steps.
//
// A trace has one sum for each phase, so within a phase the rate is its mean over all repetitions.
// If phases of several processes run at the same time, their rates are added up.

import type { Report, Spans } from "../data/report";
import type { CsvTable } from "./csv";
import { countsByPhase } from "./phase-counts";
import { trafficOf } from "./traffic";

/** A stretch of time in which the same phases run; microseconds since the run's start. */
export interface Step {
  from: number;
  to: number;
  phases: readonly number[];
}

export interface Curve {
  /** The quantity that it shows, and its unit. */
  name: string;
  unit: "per second" | "share";
  /** The value of each step; undefined where nothing is known. */
  values: readonly (number | undefined)[];
}

/** The steps between all starts and ends of spans; stretches without any span are left out. */
export function stepsOf({ phase, start, end }: Spans): Step[] {
  const events: [time: number, phase: number, change: 1 | -1][] = [];
  for (let i = 0; i < phase.length; i++) {
    if (end[i]! > start[i]!) events.push([start[i]!, phase[i]!, 1], [end[i]!, phase[i]!, -1]);
  }
  events.sort((a, b) => a[0] - b[0]);
  const running = new Map<number, number>();
  const steps: Step[] = [];
  let before = 0;
  for (const [time, of, change] of events) {
    // Times are rounded to microseconds, so phases that follow each other may overlap by one.
    const isRounding = running.size > 1 && time - before <= 1;
    if (time > before && running.size > 0 && !isRounding) {
      steps.push({ from: before, to: time, phases: [...running.keys()].sort((a, b) => a - b) });
    }
    before = time;
    const now = (running.get(of) ?? 0) + change;
    if (now > 0) running.set(of, now);
    else running.delete(of);
  }
  return steps;
}

/** The time that each phase took, in microseconds; time of several processes counts once. */
function durations(steps: readonly Step[], phases: number): Float64Array {
  const sums = new Float64Array(phases);
  for (const { from, to, phases: running } of steps) {
    for (const phase of running) sums[phase]! += to - from;
  }
  return sums;
}

interface Sums {
  all: ArrayLike<number>;
  remote: ArrayLike<number>;
  /** Accesses whose share of remote ones is known. */
  known: ArrayLike<number>;
}

/** The sums of each phase, for the whole structure at a position, or for the run (-1). */
function sumsOf(report: Report, position: number): Sums {
  const { phases, traffic } = report;
  if (position < 0) {
    const splits = phases.map((_, phase) => trafficOf(report, [phase]).split);
    return {
      all: phases.map(({ reads, writes }) => reads + writes),
      remote: splits.map(({ remote }) => remote),
      known: splits.map(({ local, remote }) => local + remote),
    };
  }
  const at = phases.map((_, phase) => position * phases.length + phase);
  return {
    all: countsByPhase(report, position),
    remote: at.map((i) => traffic.remote[i] ?? 0),
    known: at.map((i) => (traffic.local[i] ?? 0) + (traffic.remote[i] ?? 0)),
  };
}

/** The rate of what a report counts, over the steps; on several nodes, also the remote share. */
export function timeCurves(
  report: Report,
  steps: readonly Step[],
  position: number,
  counted: string,
): Curve[] {
  const { all, remote, known } = sumsOf(report, position);
  const took = durations(steps, report.phases.length);
  const sum = (of: ArrayLike<number>, { phases }: Step) =>
    phases.reduce((total, phase) => total + of[phase]! / (took[phase]! / 1e6), 0);
  const rate: Curve = {
    name: counted,
    unit: "per second",
    values: steps.map((step) => sum(all, step)),
  };
  if (report.traffic.nodes.length < 2) return [rate];
  const share = (step: Step) => {
    const judged = sum(known, step);
    return judged > 0 ? sum(remote, step) / judged : undefined;
  };
  return [rate, { name: `remote ${counted}`, unit: "share", values: steps.map(share) }];
}

/** The step at a time, or the nearest one. */
export function stepAt(steps: readonly Step[], time: number): number {
  let best = 0;
  let least = Infinity;
  for (let i = 0; i < steps.length; i++) {
    const { from, to } = steps[i]!;
    const away = time < from ? from - time : Math.max(0, time - to);
    if (away < least) [best, least] = [i, away];
  }
  return best;
}

/** A row for each step. */
export function stepsCsv(
  { phases }: Report,
  steps: readonly Step[],
  curves: readonly Curve[],
): CsvTable {
  const columns = curves.map(
    ({ name, unit }) => `${name.replaceAll(" ", "_")}_${unit.replaceAll(" ", "_")}`,
  );
  return {
    columns: ["from_s", "to_s", "phases", ...columns],
    rows: steps.map(({ from, to, phases: running }, i) => [
      from / 1e6,
      to / 1e6,
      running.map((phase) => phases[phase]!.name).join("; "),
      ...curves.map(({ values }) => values[i] ?? ""),
    ]),
  };
}
