// SPDX-License-Identifier: Apache-2.0
import type { Report } from "../../data/report";
import { seesAccesses, wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import type { Joint } from "../../model/joint";
import { columnAt, entryAt, firstTouchOf } from "../../model/matrix";
import type { Matrix } from "../../model/matrix";
import type { Viewport } from "../../model/viewport";
import { Tooltip } from "../elements/tooltip";
import { pagesText } from "../figures/cursor-tooltip";
import type { Cursor } from "../figures/page-thread-plot";

interface Props {
  reports: [Report, Report];
  joint: Joint;
  view: Viewport;
  cursor: Cursor;
}

/** Shows what both runs do at the pointer: the counts of the thread, and the first toucher. */
export function PairTooltip({ reports, joint, view, cursor }: Props) {
  const { a } = joint;
  const column = columnAt(a, view.x0 + cursor.x * (view.x1 - view.x0));
  const row = Math.floor(view.y0 + cursor.y * (view.y1 - view.y0));
  if (column < 0 || row >= a.threads || a.start.length === 0) return null;
  const start = a.start[column]!;
  const pages = a.pages[column]!;
  const words = wordsOf(reports[0].run);
  const thread = (reports[0].threads[row] ?? reports[1].threads[row])!.thread;
  return (
    <Tooltip at={cursor} title={`${pagesText(start, pages)}, thread ${thread}`}>
      <dl>
        {[joint.a, joint.b].map((matrix, i) => {
          const letter = i === 0 ? "A" : "B";
          return [
            seesAccesses(reports[0].run) && <dt key={letter}>{`${letter}: ${words.all}`}</dt>,
            seesAccesses(reports[0].run) && (
              <dd key={`${letter}n`}>{show.count(accessesAt(matrix, row, column))}</dd>
            ),
            <dt key={`${letter}f`}>{letter}: first touch</dt>,
            <dd key={`${letter}t`}>{toucherAt(matrix, reports[i]!, column)}</dd>,
          ];
        })}
      </dl>
    </Tooltip>
  );
}

function accessesAt({ accesses }: Matrix, row: number, column: number): number {
  const entry = entryAt(accesses, row, column);
  return entry < 0 ? 0 : accesses.reads[entry]! + accesses.writes[entry]!;
}

function toucherAt(matrix: Matrix, { threads }: Report, column: number): string {
  const first = firstTouchOf(matrix, column);
  if (!first) return "not seen";
  const plural = first.rows > 2 ? "s" : "";
  const others = first.rows > 1 ? ` and ${first.rows - 1} other${plural}` : "";
  return `thread ${threads[first.row]!.thread}${others}`;
}
