// SPDX-License-Identifier: Apache-2.0
import type { Report, Thread } from "../../data/report";
import { counting, seesAccesses, wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { columnAt, entryAt, firstTouchOf } from "../../model/matrix";
import { HUGE_PAGE } from "../../model/page-unit";
import type { Viewport } from "../../model/viewport";
import type { FigureData } from "./figure-data";
import type { Cursor } from "./page-thread-plot";

interface Props {
  data: FigureData;
  view: Viewport;
  cursor: Cursor;
}

/** What is under the pointer: pages, thread, counts, first toucher and its source line. */
export function CursorTooltip({ data, view, cursor }: Props) {
  const { report, matrix, threads, per } = data;
  const x = view.x0 + cursor.x * (view.x1 - view.x0);
  const y = view.y0 + cursor.y * (view.y1 - view.y0);
  // Beside a larger structure, or a run with more threads, there is nothing here.
  if (x > matrix.length || y > matrix.threads) return null;
  const page = Math.min(x, matrix.length - 1e-6);
  const row = Math.min(Math.floor(y), matrix.threads - 1);
  const column = columnAt(matrix, page);
  const thread = threads[row];
  if (column < 0 || !thread) return null;
  const start = matrix.start[column]!;
  const pages = matrix.pages[column]!;
  const touched = matrix.touched[column]!;
  const entry = entryAt(matrix.accesses, row, column);
  const first = firstTouchOf(matrix, column);
  const users = threads.filter((_, line) => entryAt(matrix.accesses, line, column) >= 0).length;
  const seen = seesAccesses(report.run);
  const words = wordsOf(report.run);
  const lines = counting(report.run) === "memory lines";
  const counted = (numbers: ArrayLike<number>) =>
    `${show.count(entry < 0 ? 0 : numbers[entry]!)}${lines ? " lines" : ""}`;
  const name = thread.name && thread.name !== `thread ${thread.thread}` ? ` (${thread.name})` : "";
  return (
    <div class="tooltip" role="status" style={beside(cursor)}>
      <p class="title">
        {pages === 1
          ? `Page ${show.count(start)}`
          : `Pages ${show.count(start)}–${show.count(start + pages - 1)}`}
        <small>
          {" "}
          at {show.bytes(start * report.run.page_size)}
          {per > 1 && touched > 0 && `, on one page of ${show.bytes(HUGE_PAGE)}`}
        </small>
      </p>
      <dl>
        <dt>Thread</dt>
        <dd>
          {thread.thread}
          <bdi>{name}</bdi>
        </dd>
        {seen && (
          <>
            <dt>{words.readsHeading}</dt>
            <dd>{counted(matrix.accesses.reads)}</dd>
            <dt>{words.writesHeading}</dt>
            <dd>{counted(matrix.accesses.writes)}</dd>
          </>
        )}
        {pages > 1 && (
          <>
            <dt>Touched</dt>
            <dd>
              {show.count(touched)} of {show.count(pages)} pages
            </dd>
          </>
        )}
        {seen && (
          <>
            <dt>{lines ? "Lines by" : "Used by"}</dt>
            <dd>{users === 1 ? "1 thread" : `${show.count(users)} threads`}</dd>
          </>
        )}
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
    </div>
  );
}

/** Beside the pointer, on the side where there is room. */
export function beside({ clientX, clientY }: Cursor) {
  const x = clientX > window.innerWidth - 340 ? "calc(-100% - 14px)" : "14px";
  const y = clientY > window.innerHeight - 200 ? "calc(-100% - 10px)" : "14px";
  return { left: `${clientX}px`, top: `${clientY}px`, transform: `translate(${x}, ${y})` };
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
    : `${thread} (${pages}), ${first.rows - 1} others`;
}

function place({ places }: Report, index: number): string {
  const name = (places.function[index] ?? "").slice(0, 120);
  const file = show.fileName(places.file[index] ?? "").slice(0, 80);
  const line = places.line[index] ? `:${places.line[index]}` : "";
  return file ? `${name ? `${name}, ` : ""}${file}${line}` : name;
}
