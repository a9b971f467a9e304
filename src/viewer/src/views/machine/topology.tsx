// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Machine, Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { threadColour } from "../../draw/colour";
import { wordsOf } from "../../model/counting";
import * as show from "../../model/format";
import { factorText, pairOf } from "../../model/node-distance";
import { dotsIn, topologyOf } from "../../model/topology";
import type { Band, NodeColumn } from "../../model/topology";
import type { NodeTraffic } from "../../model/traffic";
import { useWidth } from "../page/use-width";

interface Props {
  report: Report;
  traffic: NodeTraffic;
  theme: Theme;
}

/** Heights in pixels, from top to bottom: name and CPUs, threads, bands, memory, its numbers. */
const NAME = 42;
const THREADS = 58;
const BANDS = 120;
const MEMORY = 26;
const NUMBERS = 40;
const HEIGHT = NAME + THREADS + BANDS + MEMORY + NUMBERS;
const MARGIN = 10;
/** Width of a column below which words are left out. */
const NARROW = 90;

export function TopologyFigure({ report, traffic, theme }: Props) {
  const [frame, room] = useWidth<HTMLDivElement>();
  const { threads, machine } = report;
  const unit = wordsOf(report.run).all;
  const scene = useMemo(
    () => topologyOf(machine, threads, report.traffic.thread_node, traffic, room),
    [report, traffic, room],
  );
  const all = traffic.rowSums.reduce((sum, n) => sum + n, 0);
  return (
    <div class="topology" ref={frame}>
      <svg
        role="img"
        aria-label={described(scene.columns, all, unit)}
        width={scene.width}
        height={HEIGHT}
        viewBox={`0 0 ${scene.width} ${HEIGHT}`}
      >
        {scene.columns.map((column, i) => (
          <rect
            key={i}
            class={column.node === undefined ? "node unknown" : "node"}
            x={column.x + 0.5}
            y={0.5}
            width={column.width - 1}
            height={HEIGHT - 1}
            rx={9}
          />
        ))}
        {byWidth(scene.bands).map((band) => (
          <path key={`${band.from} ${band.to}`} class={`band ${band.kind}`} d={outline(band)}>
            <title>{told(band, scene.columns, all, unit, machine)}</title>
          </path>
        ))}
        {scene.columns.map((column, i) => (
          <Column key={i} {...{ column, all, unit, theme }} threads={threads.length} />
        ))}
      </svg>
    </div>
  );
}

interface ColumnProps {
  column: NodeColumn;
  all: number;
  unit: string;
  threads: number;
  theme: Theme;
}

function Column({ column, all, unit, threads, theme }: ColumnProps) {
  const { x, width, node, cpus, memoryBytes, served } = column;
  const middle = x + width / 2;
  const memory = NAME + THREADS + BANDS;
  const narrow = width < NARROW;
  const inset = narrow ? 3 : 8;
  return (
    <g>
      <text class="title" x={middle} y={19}>
        {node === undefined ? (narrow ? "?" : "Uncertain") : narrow ? node : `Node ${node}`}
      </text>
      <text class="small" x={middle} y={34}>
        {node === undefined ? (narrow ? "" : "several nodes") : cpuText(cpus, narrow)}
      </text>
      <Threads column={column} threads={threads} theme={theme} />
      <rect
        class="memory"
        x={x + inset}
        y={memory}
        width={width - 2 * inset}
        height={MEMORY}
        rx={4}
      />
      <text class="small memory-text" x={middle} y={memory + 17}>
        {memoryText(node, memoryBytes, narrow)}
      </text>
      <text class="served" x={middle} y={memory + MEMORY + 18}>
        {show.share(served / Math.max(1, all))}
      </text>
      {!narrow && (
        <text class="small" x={middle} y={memory + MEMORY + 32}>
          of the {unit}
        </text>
      )}
    </g>
  );
}

/** A dot per thread, in the thread's colour; their number when dots do not fit. */
function Threads({ column, threads, theme }: Omit<ColumnProps, "all" | "unit">) {
  const { x, width, threads: rows } = column;
  const middle = x + width / 2;
  const { step, perRow } = dotsIn(rows.length, width - 2 * MARGIN, THREADS - 8);
  if (rows.length === 0 || step === 0) {
    return (
      <text class="small" x={middle} y={NAME + THREADS / 2}>
        {rows.length === 0
          ? width < NARROW
            ? "none"
            : "no threads"
          : `${show.count(rows.length)} threads`}
      </text>
    );
  }
  const lines = Math.ceil(rows.length / perRow);
  const left = middle - (Math.min(perRow, rows.length) * step) / 2 + step / 2;
  const top = NAME + THREADS - 4 - lines * step + step / 2;
  return (
    <g>
      {rows.map((row, i) => {
        const cx = left + (i % perRow) * step;
        const cy = top + Math.floor(i / perRow) * step;
        return (
          <g key={row}>
            <circle cx={cx} cy={cy} r={step * 0.42} fill={threadColour(row, threads, theme)} />
            {step >= 18 && row < 100 && (
              <text class="thread-number" x={cx} y={cy + 3.4}>
                {row}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}

function cpuText(cpus: number[], narrow: boolean): string {
  if (cpus.length === 0) return "no CPUs";
  if (narrow) return `${cpus.length} CPU${cpus.length > 1 ? "s" : ""}`;
  const text = show.ranges(cpus, undefined, 2);
  return text.length > 16 ? `${cpus.length} CPUs` : `CPU${cpus.length > 1 ? "s" : ""} ${text}`;
}

function memoryText(node: number | undefined, bytes: number, narrow: boolean): string {
  if (node === undefined) return narrow ? "?" : "unknown";
  return bytes > 0 ? show.bytes(bytes) : "memory";
}

/** Thin bands on top of wide ones. */
function byWidth(bands: Band[]): Band[] {
  return [...bands].sort((a, b) => b.width - a.width);
}

function outline({ x0, x1, width }: Band): string {
  const half = width / 2;
  const top = NAME + THREADS;
  const bottom = top + BANDS;
  const [near, far] = [top + BANDS * 0.45, bottom - BANDS * 0.45];
  const c = (value: number) => value.toFixed(2);
  return (
    `M${c(x0 - half)} ${top}C${c(x0 - half)} ${near} ${c(x1 - half)} ${far} ${c(x1 - half)} ${bottom}` +
    `L${c(x1 + half)} ${bottom}C${c(x1 + half)} ${far} ${c(x0 + half)} ${near} ${c(x0 + half)} ${top}Z`
  );
}

function told(
  { from, to, accesses }: Band,
  columns: NodeColumn[],
  all: number,
  unit: string,
  machine: Machine,
): string {
  const threads = columns[from]!.node;
  const pages = columns[to]!.node;
  const who =
    threads === undefined ? "Threads of several or unknown nodes" : `Threads on node ${threads}`;
  const what = pages === undefined ? "pages on an unknown node" : `pages on node ${pages}`;
  const { factor } = pairOf(machine, threads, pages);
  const far = factor === undefined || from === to ? "" : `, NUMA factor ${factorText(factor)}`;
  return `${who} to ${what}: ${show.short(accesses)} ${unit}, ${show.share(accesses / Math.max(1, all))}${far}`;
}

function described(columns: NodeColumn[], all: number, unit: string): string {
  const nodes = columns.filter(({ node }) => node !== undefined);
  const parts = nodes.map(
    ({ node, threads, served }) =>
      `node ${node} has ${threads.length} threads and ` +
      `serves ${show.share(served / Math.max(1, all))} of the ${unit}`,
  );
  return `The machine: ${parts.join("; ")}`;
}
