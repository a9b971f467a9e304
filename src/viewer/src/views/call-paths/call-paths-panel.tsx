// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../../data/report";
import { accessPaths, knownCallers } from "../../model/access-paths";
import { callPaths, pathMeasures } from "../../model/call-paths";
import type { PathMeasure } from "../../model/call-paths";
import { codePaths, knowsCode } from "../../model/code-paths";
import { matchingFrames, matchingShare, pathsCsv } from "../../model/flame";
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
  /** Position of the chosen whole structure. */
  selected: number;
  onSelect: (position: number) => void;
}

const OF = [
  ["run", "run"],
  ["structure", "chosen structure"],
] as const;
type Of = (typeof OF)[number][0];

/**
 * The code of the frames: the calls that allocated memory, the functions that use it, or the calls
 * that led to these functions, which use it or touch it first.
 */
type Code = "allocates" | "uses" | "calls" | "touches";
const CODES: Record<Code, { choice: string; title: string; frames: typeof callPaths }> = {
  calls: { choice: "accessing calls", title: "Call paths of accesses", frames: accessPaths },
  touches: { choice: "touching calls", title: "Call paths of first touches", frames: accessPaths },
  allocates: { choice: "allocating calls", title: "Call paths of allocations", frames: callPaths },
  uses: { choice: "accessing functions", title: "Functions that access memory", frames: codePaths },
};

/** Flame graphs of call paths, and of functions; nothing if the trace has none of them. */
export function CallPathsPanel(props: Props) {
  const { report } = props;
  const known = useMemo(() => {
    const found: Code[] = [];
    const callers = knownCallers(report);
    if (callers.includes("accesses")) found.push("calls");
    if (report.structures.some(({ call_stack: stack }) => stack.length > 0))
      found.push("allocates");
    if (knowsCode(report)) found.push("uses");
    if (callers.includes("touches")) found.push("touches");
    return found;
  }, [report]);
  return known.length > 0 ? <Panel {...props} known={known} /> : null;
}

function Panel({ report, phases, selected, onSelect, known }: Props & { known: Code[] }) {
  const [wanted, setWanted] = useState<PathMeasure>("accesses");
  const [wantedCode, setCode] = useState<Code>(known[0]!);
  const code = known.includes(wantedCode) ? wantedCode : known[0]!;
  const measures = pathMeasures(report).filter((one) => isMeasureOf(code, one));
  const measure = measures.includes(wanted) ? wanted : measures[0]!;
  const [of, setOf] = useState<Of>("run");
  const [search, setSearch] = useState("");
  const only = of === "structure" ? selected : -1;
  const { title, frames: framesOf } = CODES[code];
  const frames = useMemo(
    () => framesOf(report, phases, measure, only),
    [report, phases, measure, only, code],
  );
  const matches = useMemo(() => matchingFrames(frames, search), [frames, search]);
  // It is not recorded which line makes a remote access.
  const estimated = code === "uses" && measure === "remote" ? ", estimated" : "";
  const unit = unitOf(report, measure) + estimated;
  return (
    <section class="panel call-paths" aria-labelledby="call-paths" data-figure>
      <div class="heading">
        <h2 id="call-paths">{title}</h2>
        <SaveMenu
          title={title}
          subtitle={unit}
          table={() => pathsCsv(frames, unit.replaceAll(/\W+/g, "_"))}
        />
      </div>
      <div class="toolbar not-saved">
        {known.length > 1 && (
          <Segmented
            label="Show"
            options={known.map((one) => [one, CODES[one].choice] as const)}
            value={code}
            onChange={setCode}
          />
        )}
        <Segmented
          label="Width"
          options={measures.map((one) => [one, unitOf(report, one)] as const)}
          value={measure}
          onChange={setWanted}
        />
        <Segmented label="Of" options={OF} value={of} onChange={setOf} />
        <Search text={search} onSearch={setSearch} share={matchingShare(frames, matches)} />
      </div>
      {frames[0]!.value > 0 ? (
        <FlameGraph
          key={`${code} ${measure} ${only}`}
          {...{ report, frames, matches, selected, onSelect, unit }}
          searching={search.trim() !== ""}
        />
      ) : (
        <p class="statement">There are no {unitOf(report, measure)} here in the selected phases.</p>
      )}
      <Kinds code={code} measure={measure} />
      <Aid code={code} />
    </section>
  );
}

/** Whether the width of this code's frames can be the measure. */
function isMeasureOf(code: Code, measure: PathMeasure): boolean {
  if (code === "calls") return measure !== "touches";
  return code !== "touches" || measure === "touches";
}

interface SearchProps {
  text: string;
  onSearch: (text: string) => void;
  /** The share of the frames that match. */
  share: number;
}

function Search({ text, onSearch, share }: SearchProps) {
  return (
    <>
      <input
        type="search"
        placeholder="Search function, file, structure"
        aria-label="Search call paths"
        value={text}
        onInput={(event) => onSearch(event.currentTarget.value)}
      />
      {text.trim() && <span role="status">{show.share(share)} match</span>}
    </>
  );
}

/** The meaning of the colours of the frames. */
function Kinds({ code, measure }: { code: Code; measure: PathMeasure }) {
  const kinds: [string, string][] = [
    ["call", code === "uses" ? "function, loop" : "call"],
    ["structure", "structure"],
  ];
  if (code !== "allocates") kinds.splice(1, 0, ["place", "line"]);
  else if (measure === "touches") kinds.push(["place", "touches its pages first"]);
  return (
    <p class="how">
      {kinds.map(([kind, text]) => (
        <span class="kind" key={kind}>
          <span class={`swatch frame-${kind}`} /> {text}
        </span>
      ))}
      <span class="not-saved">
        {" "}
        · Click a call to enlarge it, and a structure to choose it. Arrow keys move, Enter is a
        click, Escape shows all.
      </span>
    </p>
  );
}

function Aid({ code }: { code: Code }) {
  if (code === "calls") return <CallsAid />;
  if (code === "touches") return <TouchesAid />;
  return code === "uses" ? (
    <ReadingAid
      read={
        <p>
          From top to bottom: the functions that access memory, their loops and lines, and the{" "}
          <Term of="structure">structures</Term> that they access. The callers of a function are not
          recorded. For remote accesses, each line has the same remote share as its structure.
        </p>
      }
      act={
        <p>
          One line makes most remote accesses: let each thread initialise the part that it uses in
          this line.
        </p>
      }
    />
  ) : (
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

function CallsAid() {
  return (
    <ReadingAid
      read={
        <p>
          From top to bottom: the calls that led to sampled accesses, the line that makes the
          access, and the <Term of="structure">structure</Term> that it accesses. The width is the
          number of samples. Functions that the compiler inlined count as calls.
        </p>
      }
      act={
        <p>
          One call path makes most remote accesses: look at how this path divides its work among
          threads. Other paths to the same function may need no change.
        </p>
      }
    />
  );
}

function TouchesAid() {
  return (
    <ReadingAid
      read={
        <p>
          From top to bottom: the calls that led to the first touch of a page, the line that touches
          it, and the <Term of="structure">structure</Term>. The width is the number of pages.
          Functions that the compiler inlined count as calls.
        </p>
      }
      act={
        <p>
          One call path touches pages that other threads use: let these threads initialise the pages
          on this path. Other paths to the same function may need no change.
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
