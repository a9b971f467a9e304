// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../../data/report";
import {
  callPaths,
  matchingFrames,
  matchingShare,
  pathMeasures,
  pathsCsv,
} from "../../model/call-paths";
import type { PathMeasure } from "../../model/call-paths";
import * as show from "../../model/format";
import { wordsOf } from "../../model/counting";
import { ReadingAid } from "../elements/reading-aid";
import { Segmented } from "../elements/segmented";
import { SaveMenu } from "../page/save-menu";
import { Term } from "../elements/term";
import { FlameGraph } from "./flame-graph";

interface Props {
  report: Report;
  phases: readonly number[];
  /** Of the chosen whole structure. */
  selected: number;
  onSelect: (position: number) => void;
}

const OF = [
  ["run", "run"],
  ["structure", "chosen structure"],
] as const;
type Of = (typeof OF)[number][0];

/** The flame graph of the calls that allocated memory; nothing if no call path is known. */
export function CallPathsPanel(props: Props) {
  const { structures } = props.report;
  const known = useMemo(
    () => structures.some(({ call_stack: stack }) => stack.length > 0),
    [structures],
  );
  return known ? <Panel {...props} /> : null;
}

function Panel({ report, phases, selected, onSelect }: Props) {
  const measures = pathMeasures(report);
  const [wanted, setWanted] = useState<PathMeasure>("accesses");
  const measure = measures.includes(wanted) ? wanted : measures[0]!;
  const [of, setOf] = useState<Of>("run");
  const [search, setSearch] = useState("");
  const only = of === "structure" ? selected : -1;
  const frames = useMemo(
    () => callPaths(report, phases, measure, only),
    [report, phases, measure, only],
  );
  const matches = useMemo(() => matchingFrames(frames, search), [frames, search]);
  const unit = unitOf(report, measure);
  return (
    <section class="panel call-paths" aria-labelledby="call-paths" data-figure>
      <div class="heading">
        <h2 id="call-paths">Call paths of allocations</h2>
        <SaveMenu
          title="Call paths of allocations"
          subtitle={unit}
          table={() => pathsCsv(frames, unit.replaceAll(" ", "_"))}
        />
      </div>
      <div class="toolbar not-saved">
        <Segmented
          label="Width"
          options={measures.map((one) => [one, unitOf(report, one)] as const)}
          value={measure}
          onChange={setWanted}
        />
        <Segmented label="Of" options={OF} value={of} onChange={setOf} />
        <input
          type="search"
          placeholder="Search function, file, structure"
          aria-label="Search call paths"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        {search.trim() && (
          <span role="status">{show.share(matchingShare(frames, matches))} match</span>
        )}
      </div>
      {frames[0]!.value > 0 ? (
        <FlameGraph
          key={`${measure} ${only}`}
          {...{ report, frames, matches, selected, onSelect, unit }}
          searching={search.trim() !== ""}
        />
      ) : (
        <p class="statement">There are no {unit} here in the selected phases.</p>
      )}
      <p class="how">
        <span class="kind">
          <span class="swatch frame-call" /> call
        </span>
        <span class="kind">
          <span class="swatch frame-structure" /> structure
        </span>
        {measure === "touches" && (
          <span class="kind">
            <span class="swatch frame-place" /> touches its pages first
          </span>
        )}
        <span class="not-saved">
          {" "}
          · Click a call to enlarge it, and a structure to choose it. Arrow keys move, Enter is a
          click, Escape shows all.
        </span>
      </p>
      <Aid />
    </section>
  );
}

function Aid() {
  return (
    <ReadingAid
      read={
        <p>
          From top to bottom: the calls that led to an allocation, and the{" "}
          <Term of="structure">structure</Term> that was allocated. The width is the share of the
          accesses to this memory (not of the accesses by the function), or of its pages.
        </p>
      }
      act={
        <p>
          One call path leads to most remote accesses: change where this path allocates, or who
          touches its memory first.
        </p>
      }
    />
  );
}

function unitOf({ run }: Report, measure: PathMeasure): string {
  const { all } = wordsOf(run);
  if (measure === "accesses") return all;
  return measure === "remote" ? `remote ${all}` : "first touches";
}
