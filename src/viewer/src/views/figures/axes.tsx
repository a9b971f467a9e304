// SPDX-License-Identifier: Apache-2.0
import { scaleLinear } from "d3-scale";
import { useState } from "preact/hooks";
import type { Thread } from "../../data/report";
import * as show from "../../model/format";
import type { LineGroup } from "../../model/thread-order";
import type { Viewport } from "../../model/viewport";
import { pointIn } from "../page/navigation";

interface PageAxisProps {
  view: Viewport;
  pageSize: number;
  /** Width in pixels, for the number of ticks. */
  width: number;
}

/** Page numbers, with the offset in bytes below. */
export function PageAxis({ view, pageSize, width }: PageAxisProps) {
  const scale = scaleLinear([view.x0, view.x1], [0, 100]);
  const ticks = scale.ticks(Math.max(2, width / 130)).filter(Number.isInteger);
  return (
    <div class="page-axis" aria-hidden="true">
      {ticks.map((page) => (
        <span key={page} style={{ left: `${scale(page)}%` }} class={edge(scale(page))}>
          <b />
          {show.count(page)}
          <small>{show.bytes(page * pageSize)}</small>
        </span>
      ))}
    </div>
  );
}

function edge(percent: number): string {
  if (percent < 2) return "first";
  return percent > 97 ? "last" : "";
}

/** Lines first .. last of a compared group. */
interface Marked {
  name: "A" | "B";
  lines: readonly number[];
}

interface ThreadAxisProps {
  view: Viewport;
  /** The threads by line. */
  threads: Thread[];
  groups: LineGroup[];
  height: number;
  marked: Marked[];
  /** Lines chosen by dragging along the axis; with Shift the second group. Absent: nothing can be
   * chosen. */
  onSelect?: ((first: number, last: number, second: boolean) => void) | undefined;
}

export function ThreadAxis(props: ThreadAxisProps) {
  const { view, threads, groups, height, marked, onSelect } = props;
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const rows = view.y1 - view.y0;
  const scale = scaleLinear([view.y0, view.y1], [0, 100]);
  const all = rows * 13 <= height;
  const ticks = all
    ? Array.from({ length: Math.ceil(rows) }, (_, i) => Math.floor(view.y0) + i)
    : scale.ticks(Math.max(2, height / 34)).filter(Number.isInteger);
  const lineAt = (event: PointerEvent) =>
    Math.min(threads.length - 1, Math.floor(view.y0 + pointIn(event).y * rows));
  return (
    <div
      class={onSelect ? "thread-axis selecting" : "thread-axis"}
      aria-hidden="true"
      title={onSelect && "Drag: compare these threads (A); Shift and drag: with these (B)"}
      onPointerDown={(event) => {
        if (!onSelect || event.button !== 0) return;
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: lineAt(event), to: lineAt(event) });
      }}
      onPointerMove={(event) => drag && setDrag({ ...drag, to: lineAt(event) })}
      onPointerUp={(event) => {
        if (!drag) return;
        setDrag(undefined);
        onSelect?.(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to), event.shiftKey);
      }}
      onPointerCancel={() => setDrag(undefined)}
    >
      {ticks.map((line) => {
        const at = scale(line + 0.5);
        if (at < 0 || at > 100 || !threads[line]) return null;
        return (
          <span key={line} style={{ top: `${at}%` }}>
            {threads[line]!.thread}
          </span>
        );
      })}
      {groups.map((group) => (
        <GroupName key={group.name} group={group} view={view} height={height} />
      ))}
      {marked.map(({ name, lines }) => (
        <Marks key={name} name={name} lines={lines} scale={scale} />
      ))}
      {drag && (
        <b
          class="mark drag"
          style={between(scale, Math.min(drag.from, drag.to), Math.max(drag.from, drag.to) + 1)}
        />
      )}
    </div>
  );
}

type Percent = (line: number) => number;

/** The visible part of lines first .. end. */
function between(scale: Percent, first: number, end: number) {
  const top = Math.max(0, scale(first));
  return { top: `${top}%`, height: `${Math.max(0, Math.min(100, scale(end)) - top)}%` };
}

function GroupName({ group, view, height }: { group: LineGroup; view: Viewport; height: number }) {
  const first = Math.max(group.begin, view.y0);
  const end = Math.min(group.end, view.y1);
  if (((end - first) / (view.y1 - view.y0)) * height < 12) return null;
  const middle = ((first + end) / 2 - view.y0) / (view.y1 - view.y0);
  return (
    <em style={{ top: `${middle * 100}%` }} title={group.name}>
      {group.name.startsWith("several") ? "mixed" : group.name}
    </em>
  );
}

function Marks({ name, lines, scale }: Marked & { scale: Percent }) {
  const parts: [number, number][] = [];
  for (const line of lines) {
    const last = parts[parts.length - 1];
    if (last && last[1] === line) last[1] = line + 1;
    else parts.push([line, line + 1]);
  }
  const visible = parts.filter(([first, end]) => scale(end) > 0 && scale(first) < 100);
  return (
    <>
      {visible.slice(0, 200).map(([first, end]) => (
        <b key={first} class={`mark ${name.toLowerCase()}`} style={between(scale, first, end)}>
          {name}
        </b>
      ))}
    </>
  );
}

/** Lines across a plot between the groups. */
export function GroupLines({ groups, view }: { groups: LineGroup[]; view: Viewport }) {
  const inner = groups.slice(1).filter(({ begin }) => begin > view.y0 && begin < view.y1);
  return (
    <>
      {inner.map(({ begin, name }) => (
        <span
          key={name}
          class="group-line"
          style={{ top: `${((begin - view.y0) / (view.y1 - view.y0)) * 100}%` }}
        />
      ))}
    </>
  );
}
