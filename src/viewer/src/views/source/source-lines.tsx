// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../../data/report";
import * as show from "../../model/format";
import { linesTable } from "../../model/overview-tables";
import { estimatedShare, sumOf, usesOf, windowOf } from "../../model/source-lines";
import type { FunctionUse, Stretch, Uses } from "../../model/source-lines";
import { ReadingAid } from "../elements/reading-aid";
import { SaveMenu } from "../page/save-menu";
import { OpenInEditor } from "./editor-link";
import { SourceText, toldUses } from "./source-text";
import { Term } from "../elements/term";

interface Props {
  report: Report;
  /** Position of the whole structure. */
  position: number;
  phases: readonly number[];
}

const ESTIMATED =
  "≈ means that at least a part of the number is estimated from samples. Numbers without ≈ are " +
  "exact.";

/** Functions shown before the reader asks for all. */
const FEW = 8;

/** Functions, loops and lines that read and write the structure, with their source text. */
export function SourceLines({ report, position, phases }: Props) {
  const functions = useMemo(() => usesOf(report, position, phases), [report, position, phases]);
  const [wanted, setWanted] = useState<Stretch>();
  const [all, setAll] = useState(false);
  const total = sumOf(functions);
  const { name } = report.structures[position]!;
  const chosen = wanted ?? busiestStretch(functions);
  const source = chosen && windowOf(report.sources, chosen.file, chosen.first);
  const shown = all ? functions : functions.slice(0, FEW);
  return (
    <section class="panel source-lines" aria-labelledby="source-lines" data-figure>
      <div class="heading">
        <h2 id="source-lines">
          Source lines that use <bdi class="mono">{name.slice(0, 80)}</bdi>
        </h2>
        <ul class="split-legend">
          <li>
            <span class="swatch reads" /> reads
          </li>
          <li>
            <span class="swatch writes" /> writes
          </li>
        </ul>
        <SaveMenu title={`Source lines of ${name}`} table={() => linesTable(functions)} />
      </div>
      {functions.length === 0 ? (
        <p class="statement">No source line is known to use it in the selected phases.</p>
      ) : (
        <div class={source ? "line-columns" : "line-columns alone"}>
          <div class="uses-scroll">
            <ul class="line-uses" aria-label="Functions, loops and lines, by accesses">
              {shown.map((use) => (
                <Function
                  key={`${use.name}\n${use.file}`}
                  {...{ use, total, chosen }}
                  onChoose={setWanted}
                />
              ))}
            </ul>
            {functions.length > shown.length && (
              <button type="button" class="quiet" onClick={() => setAll(true)}>
                {functions.length - shown.length} more functions
              </button>
            )}
          </div>
          {source && chosen && (
            <SourceText window={source} chosen={chosen} functions={functions} total={total} />
          )}
        </div>
      )}
      {chosen && !source && (
        <p class="how">
          The report has no text of this source file: it could not be read, or was left out.{" "}
          <OpenInEditor file={chosen.file} line={chosen.first} />
        </p>
      )}
      <Aid />
    </section>
  );
}

function Aid() {
  return (
    <ReadingAid
      read={
        <p>
          Functions that use this <Term of="structure" />, with their loops and source lines. The
          number is the share of its counted accesses. Select a row to see its source: the margin
          shows the share of each line. {ESTIMATED}
        </p>
      }
      act={
        <>
          <p>
            One loop makes nearly all accesses: initialise the structure in parallel with the
            schedule of this loop.
          </p>
          <p>Two loops split the data differently: use the same schedule in both.</p>
        </>
      }
    />
  );
}

function busiestStretch([first]: FunctionUse[]): Stretch | undefined {
  if (!first) return undefined;
  const { file } = first;
  const loop = first.loops[0];
  const line = first.lines[0];
  if (loop && (!line || loop.reads + loop.writes >= line.reads + line.writes)) {
    return { file, first: loop.loop.first, last: loop.loop.last };
  }
  return line && { file, first: line.line, last: line.line };
}

interface FunctionProps {
  use: FunctionUse;
  total: Uses;
  chosen: Stretch | undefined;
  onChoose: (stretch: Stretch) => void;
}

function Function({ use, total, chosen, onChoose }: FunctionProps) {
  const { file } = use;
  const lines = [...use.lines, ...use.loops.flatMap((loop) => loop.lines)].map(({ line }) => line);
  const row = { total, chosen, onChoose };
  const line = (depth: number) => (one: { line: number } & Uses) => (
    <Row
      key={`line ${one.line}`}
      depth={depth}
      uses={one}
      stretch={{ file, first: one.line, last: one.line }}
      {...row}
    >
      line {one.line || "unknown"}
    </Row>
  );
  return (
    <>
      <Row
        depth={0}
        uses={use}
        stretch={{ file, first: Math.min(...lines), last: Math.max(...lines) }}
        {...row}
      >
        <bdi class="mono">{use.name.slice(0, 120) || "unknown function"}</bdi>{" "}
        {file && <bdi class="origin">{show.fileName(file).slice(0, 60)}</bdi>}
      </Row>
      {use.loops.map((loop) => (
        <>
          <Row
            key={`loop ${loop.loop.first}`}
            depth={1}
            uses={loop}
            stretch={{ file, first: loop.loop.first, last: loop.loop.last }}
            {...row}
          >
            {loop.loop.kind} loop, {linesText(loop.loop)}
          </Row>
          {loop.lines.map(line(2))}
        </>
      ))}
      {use.lines.map(line(1))}
    </>
  );
}

function linesText({ first, last }: { first: number; last: number }): string {
  return first === last ? `line ${first}` : `lines ${first}–${last}`;
}

interface RowProps extends Omit<FunctionProps, "use"> {
  depth: number;
  uses: Uses;
  stretch: Stretch;
  children: preact.ComponentChildren;
}

function Row({ depth, uses, total, stretch, chosen, onChoose, children }: RowProps) {
  const all = Math.max(1, total.reads + total.writes);
  const part = (uses.reads + uses.writes) / all;
  const is =
    chosen?.file === stretch.file && chosen.first === stretch.first && chosen.last === stretch.last;
  const told = toldUses(uses);
  return (
    <li style={{ "--depth": depth }}>
      <button type="button" aria-pressed={is} title={told} onClick={() => onChoose(stretch)}>
        <span class="line-name">{children}</span>
        <span class="split" role="img" aria-label={told}>
          <span class="reads" style={{ width: `${(100 * uses.reads) / all}%` }} />
          <span class="writes" style={{ width: `${(100 * uses.writes) / all}%` }} />
        </span>
        <span class="number">
          {estimatedShare(uses) > 0 && "≈ "}
          {show.share(part)}
        </span>
      </button>
    </li>
  );
}
