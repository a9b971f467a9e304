// SPDX-License-Identifier: Apache-2.0
// The machine as a drawing: a column per node, its threads on top and its memory below, and bands
// from the threads to the memory they access. A band that stays in its column is local.

import type { Machine, Thread } from "../data/report";
import type { NodeTraffic } from "./traffic";

export interface NodeColumn {
  /** Node number; undefined: what ran on several or unknown nodes, or lies on an unknown one. */
  node: number | undefined;
  cpus: number[];
  memoryBytes: number;
  /** Positions in the report's list of the threads that ran on this node alone. */
  threads: number[];
  /** Accesses by these threads, and to this node's memory. */
  made: number;
  served: number;
  x: number;
  width: number;
}

export interface Band {
  from: number;
  to: number;
  accesses: number;
  kind: "local" | "remote" | "unknown";
  /** Horizontal middle at the threads' and at the memory's end, and width there. */
  x0: number;
  x1: number;
  width: number;
}

export interface Topology {
  width: number;
  columns: NodeColumn[];
  bands: Band[];
}

/** Pixels between columns: fewer where there are many. */
const GAP = 14;
const SMALL_GAP = 7;
const MANY = 8;
const WIDEST = 190;
const NARROWEST = 46;
/** Part of its column that the bands of the busiest node fill. */
const FULL = 0.72;
/** Bands below this share of all accesses would only blur the drawing. */
const FAINT = 0.0002;
const THINNEST = 0.8;
/** Several or unknown nodes have a column if threads ran there, or if their share is larger. */
const UNCERTAIN = 0.001;

/** Lays the machine out in at most `room` pixels across (more when its nodes need more). */
export function topologyOf(
  machine: Machine,
  threads: Thread[],
  threadNode: ArrayLike<number>,
  traffic: NodeTraffic,
  room: number,
): Topology {
  const { nodes, size, rowSums, columnSums } = traffic;
  const placed: number[][] = Array.from({ length: size }, () => []);
  threads.forEach((_, row) => placed[Math.min(nodes.length, threadNode[row]!)]!.push(row));
  const unknown = nodes.length;
  const all = rowSums.reduce((sum, n) => sum + n, 0);
  const uncertain =
    placed[unknown]!.length > 0 || rowSums[unknown]! + columnSums[unknown]! > UNCERTAIN * all;
  const count = nodes.length + (uncertain ? 1 : 0);
  const gap = count > MANY ? SMALL_GAP : GAP;
  const width = Math.max(
    NARROWEST,
    Math.min(WIDEST, Math.floor((room - gap * (count - 1)) / count)),
  );
  const columns = Array.from({ length: count }, (_, i): NodeColumn => {
    const described = machine.nodes.find(({ node }) => node === nodes[i]);
    return {
      node: nodes[i],
      cpus: described?.cpus ?? [],
      memoryBytes: described?.memory_bytes ?? 0,
      threads: placed[i]!,
      made: rowSums[i]!,
      served: columnSums[i]!,
      x: i * (width + gap),
      width,
    };
  });
  return { width: count * (width + gap) - gap, columns, bands: bandsOf(traffic, columns) };
}

function bandsOf({ nodes, size, accesses }: NodeTraffic, columns: NodeColumn[]): Band[] {
  const most = Math.max(1, ...columns.flatMap(({ made, served }) => [made, served]));
  const all = columns.reduce((sum, { made }) => sum + made, 0);
  const scale = ((columns[0]?.width ?? 0) * FULL) / most;
  const top = columns.map(({ x, width, made }) => x + width / 2 - (made * scale) / 2);
  const bottom = columns.map(({ x, width, served }) => x + width / 2 - (served * scale) / 2);
  const bands: Band[] = [];
  for (let from = 0; from < columns.length; from++) {
    for (let to = 0; to < columns.length; to++) {
      const number = accesses[from * size + to]!;
      const width = number * scale;
      const x0 = top[from]! + width / 2;
      const x1 = bottom[to]! + width / 2;
      top[from]! += width;
      bottom[to]! += width;
      if (number < FAINT * all || number === 0) continue;
      const certain = from < nodes.length && to < nodes.length;
      const kind = !certain ? "unknown" : from === to ? "local" : "remote";
      bands.push({ from, to, accesses: number, kind, x0, x1, width: Math.max(THINNEST, width) });
    }
  }
  return bands;
}

export interface Dots {
  /** Distance between the dots' middles; 0 when they do not fit. */
  step: number;
  perRow: number;
}

const SMALLEST_DOT = 3;
const LARGEST_DOT = 20;

/** The largest square grid for `count` dots in width x height. */
export function dotsIn(count: number, width: number, height: number): Dots {
  for (let step = LARGEST_DOT; step >= SMALLEST_DOT; step -= 0.5) {
    const perRow = Math.floor(width / step);
    if (perRow * Math.floor(height / step) >= count) return { step, perRow };
  }
  return { step: 0, perRow: 0 };
}
