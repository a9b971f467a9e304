// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../../data/report";
import { accessRamp, cssOf, lowestOfLog } from "../../draw/colour";
import type { Theme } from "../../model/page-state";
import { drawSharing, largestShared } from "../../draw/sharing";
import { wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { sharingTable } from "../../model/overview-tables";
import { sharingOf } from "../../model/sharing";
import type { SharingMatrix } from "../../model/sharing";
import { describeSharing, readSharing } from "../../model/sharing-shape";
import { Canvas } from "../elements/canvas";
import { LogTicks } from "../elements/legend";
import { ReadingAid } from "../elements/reading-aid";
import { SaveMenu } from "../page/save-menu";
import { SharingTable } from "./sharing-table";
import { Term } from "../elements/term";
import { Tooltip } from "../elements/tooltip";

interface Props {
  report: Report;
  phases: readonly number[];
  /** Threads (positions) from top to bottom and from left to right. */
  order: readonly number[];
  theme: Theme;
}

interface Cursor {
  row: number;
  column: number;
  clientX: number;
  clientY: number;
}

/** Shows which threads use the same pages. */
export function SharingPanel({ report, phases, order, theme }: Props) {
  const matrix = useMemo(() => sharingOf(report, phases, order), [report, phases, order]);
  const { see, advice } = useMemo(() => {
    const byNumber = sharingOf(
      report,
      phases,
      report.threads.map((_, row) => row),
    );
    const grouped = byNumber.size < report.threads.length;
    return describeSharing(readSharing(byNumber), grouped, (row) => namesOf(report, byNumber, row));
  }, [report, phases]);
  const [cursor, setCursor] = useState<Cursor>();
  const largest = useMemo(() => largestShared(matrix), [matrix]);
  const name = (row: number) => namesOf(report, matrix, row);
  const { all: unit, columns } = wordsOf(report.run);
  return (
    <section class="panel sharing" aria-labelledby="sharing" data-figure>
      <div class="heading">
        <h2 id="sharing">
          <Term of="sharing">Sharing</Term>
        </h2>
        {largest > 0 && <SharingLegend {...{ largest, unit, theme }} />}
        <SaveMenu title="Sharing" table={() => sharingTable(matrix, name, columns.all)} />
      </div>
      <p class="statement">{see}</p>
      <div class="sharing-body">
        {matrix.size > 1 && (
          <SharingMap {...{ matrix, name, see, largest, theme }} onCursor={setCursor} />
        )}
        <div>
          {matrix.size > 1 && <SharingTable {...{ matrix, name, unit }} />}
          <ReadingAid
            read={
              <p>
                Rows and columns are <Term of="thread">threads</Term>. A stronger colour means that
                the two threads share more {unit}. For each page, take the smaller of the two
                threads' numbers of {unit}; a cell is the sum of these over all pages. The diagonal
                is empty.
              </p>
            }
            seen
            act={<p>{advice}</p>}
          />
        </div>
      </div>
      {cursor && cursor.row < matrix.size && cursor.column < matrix.size && (
        <SharedByTwo {...{ matrix, cursor, name, unit }} />
      )}
    </section>
  );
}

interface MapProps {
  matrix: SharingMatrix;
  name: (row: number) => string;
  /** A sentence about what is seen. */
  see: string;
  largest: number;
  theme: Theme;
  onCursor: (cursor: Cursor | undefined) => void;
}

function SharingMap({ matrix, name, see, largest, theme, onCursor }: MapProps) {
  const { size } = matrix;
  const at = (part: number) => Math.max(0, Math.min(size - 1, Math.floor(part * size)));
  return (
    <div class="sharing-figure">
      <div class="sharing-axis" aria-hidden="true">
        <span>{name(0)}</span>
        <span>{name(size - 1)}</span>
      </div>
      <Canvas
        class="sharing-map"
        role="img"
        aria-label={`Thread by thread: ${see} Numbers are in the table below.`}
        inputs={[matrix, theme]}
        draw={(surface) => drawSharing(surface, matrix, largest, theme)}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          onCursor({
            row: at((event.clientY - box.top) / box.height),
            column: at((event.clientX - box.left) / box.width),
            clientX: event.clientX,
            clientY: event.clientY,
          });
        }}
        onPointerLeave={() => onCursor(undefined)}
      />
      <div class="sharing-axis across" aria-hidden="true">
        <span>{name(0)}</span>
        <span>thread</span>
        <span>{name(size - 1)}</span>
      </div>
    </div>
  );
}

interface TooltipProps {
  matrix: SharingMatrix;
  cursor: Cursor;
  name: (row: number) => string;
  unit: string;
}

function SharedByTwo({ matrix, cursor, name, unit }: TooltipProps) {
  const { size, shared } = matrix;
  const { row, column } = cursor;
  const value = shared[row * size + column]!;
  const own = Math.max(1, Math.min(shared[row * size + row]!, shared[column * size + column]!));
  const title =
    row === column
      ? `Thread ${name(row)}`
      : `Threads ${name(Math.min(row, column))} and ${name(Math.max(row, column))}`;
  return (
    <Tooltip at={cursor} title={title}>
      <dl>
        <dt>{row === column ? "In all" : "On shared pages"}</dt>
        <dd>
          {show.count(value)} {unit}
        </dd>
        {row !== column && (
          <>
            <dt>Share</dt>
            <dd>
              {show.share(value / own)} of the {unit} of the one with fewer
            </dd>
          </>
        )}
      </dl>
    </Tooltip>
  );
}

function SharingLegend({ largest, unit, theme }: { largest: number; unit: string; theme: Theme }) {
  const ramp = accessRamp(theme);
  const stops = Array.from({ length: 9 }, (_, i) => cssOf(ramp[Math.round((i / 8) * 255)]!));
  return (
    <div class="legend">
      <span class="none" /> none <span>{show.short(lowestOfLog(largest))}</span>
      <span class="ramp">
        <span
          class="gradient"
          role="img"
          aria-label="Colours of the sharing map, by powers of ten"
          style={{ background: `linear-gradient(90deg, ${stops.join(", ")})` }}
        />
        <LogTicks largest={largest} />
      </span>
      <span>
        {show.short(largest)} {unit}
      </span>
    </div>
  );
}

function namesOf({ threads }: Report, matrix: SharingMatrix, row: number): string {
  const numbers = (matrix.threads[row] ?? []).map((position) => threads[position]!.thread);
  return show.ranges(numbers, undefined, 2);
}
