// SPDX-License-Identifier: Apache-2.0
import type { Report, Thread } from "../../data/report";
import { counting, seesAccesses, wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { columnAt, entryAt, firstTouchOf } from "../../model/matrix";
import { HUGE_PAGE } from "../../model/page-unit";
import type { Viewport } from "../../model/viewport";
import { Tooltip } from "../elements/tooltip";
import type { FigureData } from "./figure-data";
import type { Cursor } from "./page-thread-plot";

interface Props {
  data: FigureData;
  view: Viewport;
  cursor: Cursor;
}

/** Shows what is under the pointer: pages, thread, counts, first toucher and its source line. */
export function CursorTooltip({ data, view, cursor }: Props) {
  const { report, matrix, threads, per } = data;
  const under = cellUnder(data, view, cursor);
  if (!under) return null;
  const { row, column, thread } = under;
  const start = matrix.start[column]!;
  const pages = matrix.pages[column]!;
  const touched = matrix.touched[column]!;
  const first = firstTouchOf(matrix, column);
  const name = thread.name && thread.name !== `thread ${thread.thread}` ? ` (${thread.name})` : "";
  const title = (
    <>
      {pagesText(start, pages)}
      <small>
        {" "}
        at {show.bytes(start * report.run.page_size)}
        {per > 1 && touched > 0 && `, on one page of ${show.bytes(HUGE_PAGE)}`}
      </small>
    </>
  );
  return (
    <Tooltip at={cursor} title={title}>
      <dl>
        <dt>Thread</dt>
        <dd>
          {thread.thread}
          <bdi>{name}</bdi>
        </dd>
        {seesAccesses(report.run) && <Counts data={data} row={row} column={column} />}
        {pages > 1 && (
          <>
            <dt>Touched</dt>
            <dd>
              {show.count(touched)} of {show.count(pages)} pages
            </dd>
          </>
        )}
        {seesAccesses(report.run) && <Users data={data} column={column} />}
        <dt>First touch</dt>
        <dd>{first ? firstTouch(threads, first) : touched > 0 ? "not seen" : "never touched"}</dd>
        {first && first.place > 0 && (
          <>
            <dt>in</dt>
            <dd>
              <bdi>{place(report, first.place)}</bdi>
            </dd>
          </>
        )}
      </dl>
    </Tooltip>
  );
}

/** The cell at the pointer; undefined if the view is larger than the structure or the run. */
function cellUnder({ matrix, threads }: FigureData, view: Viewport, cursor: Cursor) {
  const x = view.x0 + cursor.x * (view.x1 - view.x0);
  const y = view.y0 + cursor.y * (view.y1 - view.y0);
  if (x > matrix.length || y > matrix.threads) return undefined;
  const row = Math.min(Math.floor(y), matrix.threads - 1);
  const column = columnAt(matrix, Math.min(x, matrix.length - 1e-6));
  const thread = threads[row];
  return column < 0 || !thread ? undefined : { row, column, thread };
}

interface CellProps {
  data: FigureData;
  row: number;
  column: number;
}

function Counts({ data: { report, matrix }, row, column }: CellProps) {
  const { accesses } = matrix;
  const words = wordsOf(report.run);
  const entry = entryAt(accesses, row, column);
  const unit = counting(report.run) === "memory lines" ? " lines" : "";
  const text = (numbers: ArrayLike<number>) =>
    `${show.count(entry < 0 ? 0 : numbers[entry]!)}${unit}`;
  return (
    <>
      <dt>{words.readsHeading}</dt>
      <dd>{text(accesses.reads)}</dd>
      <dt>{words.writesHeading}</dt>
      <dd>{text(accesses.writes)}</dd>
    </>
  );
}

function Users({ data: { report, matrix, threads }, column }: Omit<CellProps, "row">) {
  const users = threads.filter((_, row) => entryAt(matrix.accesses, row, column) >= 0).length;
  return (
    <>
      <dt>{counting(report.run) === "memory lines" ? "Lines by" : "Used by"}</dt>
      <dd>{users === 1 ? "1 thread" : `${show.count(users)} threads`}</dd>
    </>
  );
}

export function pagesText(start: number, pages: number): string {
  if (pages === 1) return `Page ${show.count(start)}`;
  return `Pages ${show.count(start)}–${show.count(start + pages - 1)}`;
}

function firstTouch(
  threads: Thread[],
  first: NonNullable<ReturnType<typeof firstTouchOf>>,
): string {
  const thread = `thread ${threads[first.row]!.thread}`;
  if (first.total === 1) return thread;
  const pages = `${show.count(first.pages)} of ${show.count(first.total)} pages`;
  return first.rows === 1
    ? `${thread}, all pages`
    : `${thread} (${pages}), ${first.rows - 1} other${first.rows > 2 ? "s" : ""}`;
}

function place({ places }: Report, index: number): string {
  const name = (places.function[index] ?? "").slice(0, 120);
  const file = show.fileName(places.file[index] ?? "").slice(0, 80);
  const line = places.line[index] ? `:${places.line[index]}` : "";
  return file ? `${name ? `${name}, ` : ""}${file}${line}` : name;
}
