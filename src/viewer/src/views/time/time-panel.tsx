// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { wordsOf } from "../../model/counting";
import { reportInLines } from "../../model/memory-lines";
import * as show from "../../model/format";
import { timeEnd } from "../../model/phase-selection";
import type { Selection } from "../../model/phase-selection";
import { timeCurves, stepsCsv, stepsOf } from "../../model/time-curves";
import type { Curve, Step } from "../../model/time-curves";
import { ReadingAid } from "../elements/reading-aid";
import { Segmented } from "../elements/segmented";
import { Term } from "../elements/term";
import { SaveMenu } from "../page/save-menu";
import { TimePlot } from "./time-plot";

interface Props {
  report: Report;
  /** Position of the chosen whole structure. */
  selected: number;
  selection: Selection;
  onPick: (phase: number, add: boolean) => void;
  theme: Theme;
}

const OF = [
  ["run", "run"],
  ["structure", "chosen structure"],
] as const;

/** Rates and remote shares over the time of the run. A phase has one value for its whole time. */
export function TimePanel({ report, selected, selection, onPick, theme }: Props) {
  const [of, setOf] = useState<(typeof OF)[number][0]>("run");
  const [pointed, setPointed] = useState<number>();
  const position = of === "structure" ? selected : -1;
  const steps = useMemo(() => stepsOf(report.spans), [report]);
  const curves = useMemo(() => allCurves(report, steps, position), [report, steps, position]);
  const end = useMemo(
    () => timeEnd(report.spans, Math.max(...report.phases.map(({ end_ns }) => end_ns))),
    [report],
  );
  if (steps.length === 0) return null;
  const structure = report.structures[position];
  return (
    <section class="panel time" aria-labelledby="time" data-figure>
      <div class="heading">
        <h2 id="time">Over time</h2>
        <SaveMenu
          title="Over time"
          subtitle={structure ? structure.name : "the run"}
          table={() => stepsCsv(report, steps, curves)}
        />
      </div>
      <div class="toolbar not-saved">
        <Segmented label="Of" options={OF} value={of} onChange={setOf} />
      </div>
      {curves.map((curve) => (
        <TimePlot
          key={`${curve.name} ${curve.unit}`}
          {...{ report, curve, steps, end, selection, theme, pointed, onPick }}
          onPoint={setPointed}
        />
      ))}
      <Told {...{ report, steps, curves, pointed }} />
      <ReadingAid
        read={
          <p>
            Each step is one run of a <Term of="phase" />, in the colour of the bar at the bottom. A
            trace has one sum for each phase, so all repetitions of a phase have the same height.
            Seconds are those of the recorded run, which is slower than the program alone. Click a
            step to show only its phase; with the keyboard, arrows move and Enter is a click.
          </p>
        }
        act={
          <p>
            The remote share is high in one phase only: select this phase, and look at the
            structures that it uses.
          </p>
        }
      />
    </section>
  );
}

function allCurves(report: Report, steps: readonly Step[], position: number): Curve[] {
  const accesses = timeCurves(report, steps, position, wordsOf(report.run).all);
  if (!report.memory_lines) return accesses;
  return [...accesses, ...timeCurves(reportInLines(report), steps, position, "memory lines")];
}

interface ToldProps {
  report: Report;
  steps: readonly Step[];
  curves: readonly Curve[];
  pointed: number | undefined;
}

/** The step under the pointer, in words. */
function Told({ report, steps, curves, pointed }: ToldProps) {
  const step = pointed === undefined ? undefined : steps[pointed];
  return (
    <p class="time-told not-saved" aria-live="polite">
      {step && (
        <>
          {show.seconds(step.from / 1e6)} to {show.seconds(step.to / 1e6)} ·{" "}
          <bdi>
            {step.phases.map((phase) => report.phases[phase]!.name.slice(0, 80)).join(", ")}
          </bdi>
          {curves.map((curve) => ` · ${curve.name} ${stepText(curve, pointed!)}`)}
        </>
      )}
    </p>
  );
}

export function stepText({ unit, values }: Curve, step: number): string {
  const value = values[step];
  if (value === undefined) return "unknown";
  return unit === "share" ? show.share(value) : `${show.short(value)} per second`;
}
