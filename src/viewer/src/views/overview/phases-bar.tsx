// SPDX-License-Identifier: Apache-2.0
import { useRef } from "preact/hooks";
import type { Phase, Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { phaseColour } from "../../draw/node-colour";
import { wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { picked } from "../../model/phase-selection";
import type { Selection } from "../../model/phase-selection";
import { isAdding } from "../elements/adding";
import { Term } from "../elements/term";
import { Timeline } from "./timeline";

interface Props {
  report: Report;
  selection: Selection;
  onSelect: (selection: Selection) => void;
  theme: Theme;
}

/** Shows at the bottom of the window when the phases ran, and which of them the page shows. */
export function PhasesBar({ report, selection, onSelect, theme }: Props) {
  const { phases } = report;
  const list = useRef<HTMLDivElement>(null);
  const all = accessesOf(report);
  const isChosen = (phase: number) => selection === null || selection.includes(phase);
  const pick = (phase: number, add: boolean) =>
    onSelect(picked(selection, phase, add, phases.length));
  return (
    <section class="phases-bar" aria-label="Phases of the run">
      <div class="phases-inside">
        <Head report={report} selection={selection} onAll={() => onSelect(null)} />
        <Timeline
          report={report}
          selection={selection}
          onSelect={onSelect}
          onPick={pick}
          theme={theme}
        />
        <div
          class="phase-list"
          role="group"
          aria-label="Choose phases; hold Shift or Control to add"
          ref={list}
          onKeyDown={(event) => moveFocus(event, list.current)}
        >
          {phases.map((phase, i) => (
            <button
              type="button"
              key={i}
              class="phase"
              aria-pressed={selection !== null && isChosen(i)}
              data-faint={isChosen(i) ? undefined : ""}
              title={titleOf(phase)}
              onClick={(event) => pick(i, isAdding(event))}
            >
              <span class="swatch" style={{ background: phaseColour(i, phases.length, theme) }} />
              <PhaseText phase={phase} all={all} />
            </button>
          ))}
        </div>
      </div>
    </section>
  );
}

function accessesOf({ run }: Report): number {
  return Math.max(1, run.reads + run.writes);
}

interface HeadProps {
  report: Report;
  selection: Selection;
  onAll: () => void;
}

function Head({ report, selection, onAll }: HeadProps) {
  const { phases, run } = report;
  const chosen = phases.filter((_, phase) => selection === null || selection.includes(phase));
  const counts = chosen.reduce((sum, { reads, writes }) => sum + reads + writes, 0);
  const share = show.share(counts / accessesOf(report));
  return (
    <div class="phases-head">
      <b>
        <Term of="phase">Phases</Term>
      </b>
      <span class="phases-state" role="status">
        {selection === null
          ? `all ${phases.length} shown`
          : `${chosen.length} of ${phases.length}, ${share} of ${wordsOf(run).all}`}
      </span>
      <button type="button" class="quiet" disabled={selection === null} onClick={onAll}>
        all
      </button>
    </div>
  );
}

/** `all`: the accesses of the run. */
function PhaseText({ phase, all }: { phase: Phase; all: number }) {
  return (
    <>
      <bdi class="phase-name">{phase.name.slice(0, 80) || "unnamed"}</bdi>
      {phase.file && (
        <bdi class="phase-place">{`${show.fileName(phase.file).slice(0, 40)}:${phase.line}`}</bdi>
      )}
      {phase.repetitions > 1 && <span>× {show.count(phase.repetitions)}</span>}
      <span class="phase-share">{show.share((phase.reads + phase.writes) / all)}</span>
    </>
  );
}

function titleOf({ name, file, line, repetitions, start_ns, end_ns }: Phase): string {
  const times = repetitions === 1 ? "once" : `${show.count(repetitions)} times`;
  const where = file ? ` (${show.fileName(file)}:${line})` : "";
  const [from, to] = [start_ns, end_ns].map((ns) => show.seconds(ns / 1e9));
  return `${name.slice(0, 400)}${where}: ran ${times} between ${from} and ${to}`;
}

/** Arrow keys go from phase to phase, Home and End to the first and the last. */
function moveFocus(event: KeyboardEvent, list: HTMLElement | null): void {
  const buttons = [...(list?.querySelectorAll<HTMLElement>("button") ?? [])];
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (at < 0 || to === undefined || !buttons[to]) return;
  event.preventDefault();
  event.stopPropagation();
  buttons[to].focus();
  buttons[to].scrollIntoView({ block: "nearest", inline: "nearest" });
}
