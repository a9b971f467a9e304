// SPDX-License-Identifier: Apache-2.0
// Describes the shape of the sharing matrix, computed from its values.

import type { SharingMatrix } from "./sharing";

export type SharingShape = "none" | "hub" | "neighbours" | "blocks" | "all" | "mixed";

export interface SharingReading {
  shape: SharingShape;
  /** Row all share with (hub); rows apart (neighbours); rows per block (blocks); else 0. */
  detail: number;
  /** Rows that share so little that the shape leaves them out, such as a thread that waits. */
  apart: number[];
  /** A row that shares with nearly every other row, in addition to the shape; or -1. */
  hub: number;
}

/** Sharing below this share of the accesses is ignored. */
const NONE = 0.01;
/** A pattern is named if it contains at least this part of all sharing. */
const MIN_DOMINANT_SHARE = 0.8;
/** An even matrix: mean deviation of the pairs from their mean, as a part of the mean. */
const EVEN = 0.5;
/** Rows that share less than this part of the median row are left out. */
const IDLE = 0.1;

/** Names the shape of a matrix whose rows are in order of thread numbers. */
export function readSharing(matrix: SharingMatrix): SharingReading {
  const { size, shared } = matrix;
  const pairs = pairSums(size, shared);
  let own = 0;
  let partners = 0;
  for (let i = 0; i < size; i++) {
    own += shared[i * size + i]!;
    partners += largestOf(size, shared, i);
  }
  if (size < 2 || partners < NONE * own || pairs.total === 0) {
    return { shape: "none", detail: 0, apart: [], hub: -1 };
  }
  const idle = idleRows(pairs.perRow);
  const apart = idle.length <= size / 4 ? idle : [];
  const rest = without(matrix, apart);
  const found = shapeOf(rest.size, rest.shared, pairSums(rest.size, rest.shared));
  // Rows are named as in the whole matrix.
  const detail = found.shape === "hub" ? rest.kept[found.detail]! : found.detail;
  const hub = apart.length > 0 || found.shape === "all" ? -1 : soleHub(matrix);
  if (hub < 0 || found.shape === "hub" || found.shape === "blocks") {
    return { ...found, detail, apart, hub: found.shape === "hub" ? -1 : hub };
  }
  // Its pairs have all distances, so neighbours would seem to be farther apart.
  const others = without(matrix, [hub]);
  return {
    ...shapeOf(others.size, others.shared, pairSums(others.size, others.shared)),
    apart,
    hub,
  };
}

function shapeOf(
  size: number,
  shared: Float64Array,
  pairs: ReturnType<typeof pairSums>,
): Pick<SharingReading, "shape" | "detail"> {
  const reading = (shape: SharingShape, detail = 0) => ({ shape, detail });
  // With two rows, there is only one pair: all share with all.
  if (size < 3 || isEven(size, shared, pairs.total)) return reading("all");
  const hub = pairs.perRow.findIndex((sum) => sum >= MIN_DOMINANT_SHARE * pairs.total);
  if (hub >= 0 && isEven(size, shared, pairs.total, hub)) return reading("hub", hub);
  const block = blockSize(size, shared, pairs.total);
  if (block > 0) return reading("blocks", block);
  const distance = neighbourDistance(size, shared, pairs.total);
  return distance > 0 ? reading("neighbours", distance) : reading("mixed");
}

/** The only row that shares something with nearly all others, while most share with few; or -1. */
function soleHub({ size, shared }: SharingMatrix): number {
  const partners = Array.from({ length: size }, (_, row) => {
    let count = 0;
    for (let j = 0; j < size; j++) if (j !== row && shared[row * size + j]! > 0) count++;
    return count;
  });
  const hubs = partners.filter((count) => count >= MIN_DOMINANT_SHARE * size).length;
  const median = [...partners].sort((a, b) => a - b)[size >> 1]!;
  if (hubs !== 1 || median > size / 2) return -1;
  return partners.findIndex((count) => count >= MIN_DOMINANT_SHARE * size);
}

function idleRows(perRow: Float64Array): number[] {
  const median = [...perRow].sort((a, b) => a - b)[perRow.length >> 1]!;
  return [...perRow.keys()].filter((row) => perRow[row]! < IDLE * median);
}

function without({ size, shared }: SharingMatrix, rows: readonly number[]) {
  const kept = Array.from({ length: size }, (_, i) => i).filter((i) => !rows.includes(i));
  const rest = new Float64Array(kept.length ** 2);
  kept.forEach((a, i) =>
    kept.forEach((b, j) => (rest[i * kept.length + j] = shared[a * size + b]!)),
  );
  return { size: kept.length, shared: rest, kept };
}

function pairSums(size: number, shared: Float64Array) {
  const perRow = new Float64Array(size);
  let total = 0;
  for (let i = 0; i < size; i++) {
    for (let j = i + 1; j < size; j++) {
      const value = shared[i * size + j]!;
      perRow[i]! += value;
      perRow[j]! += value;
      total += value;
    }
  }
  return { perRow, total };
}

function largestOf(size: number, shared: Float64Array, row: number): number {
  let largest = 0;
  for (let j = 0; j < size; j++) {
    if (j !== row) largest = Math.max(largest, shared[row * size + j]!);
  }
  return largest;
}

/** Whether all pairs (with `hub`: all pairs of that row) have much the same value. */
function isEven(size: number, shared: Float64Array, total: number, hub?: number): boolean {
  const values: number[] = [];
  for (let i = 0; i < size; i++) {
    for (let j = i + 1; j < size; j++) {
      if (hub === undefined || i === hub || j === hub) values.push(shared[i * size + j]!);
    }
  }
  const sum = values.reduce((a, b) => a + b, 0);
  if (sum < MIN_DOMINANT_SHARE * total) return false;
  const mean = sum / values.length;
  const deviation = values.reduce((a, value) => a + Math.abs(value - mean), 0) / values.length;
  return deviation <= EVEN * mean;
}

/** The size of equal blocks of rows that share among themselves, or 0. */
function blockSize(size: number, shared: Float64Array, total: number): number {
  for (let block = 2; block <= size / 2; block++) {
    if (size % block !== 0) continue;
    const inside: number[] = [];
    for (let i = 0; i < size; i++) {
      for (let j = i + 1; j < size; j++) {
        if (Math.floor(i / block) === Math.floor(j / block)) inside.push(shared[i * size + j]!);
      }
    }
    const sum = inside.reduce((a, b) => a + b, 0);
    if (sum < MIN_DOMINANT_SHARE * total) continue;
    const mean = sum / inside.length;
    const deviation = inside.reduce((a, value) => a + Math.abs(value - mean), 0) / inside.length;
    if (deviation <= EVEN * mean) return block;
  }
  return 0;
}

/** The distance in rows of most sharing pairs, or 0 if they are not neighbours. */
function neighbourDistance(size: number, shared: Float64Array, total: number): number {
  const furthest = Math.floor(size / 4);
  let sum = 0;
  for (let apart = 1; apart <= furthest; apart++) {
    for (let i = 0; i + apart < size; i++) sum += shared[i * size + i + apart]!;
    if (sum >= MIN_DOMINANT_SHARE * total) return apart;
  }
  return 0;
}

/** The shape in words; `name` gives the threads behind a row, `grouped`: several each. */
export function describeSharing(
  reading: SharingReading,
  grouped: boolean,
  name: (row: number) => string,
): { see: string; advice: string } {
  const { see, advice } = inWords(reading, grouped ? "groups of threads" : "threads", name);
  if (reading.hub >= 0) {
    return {
      see: `${see} In addition, all threads share with thread ${name(reading.hub)}.`,
      advice,
    };
  }
  if (reading.apart.length === 0) return { see, advice };
  const rest = reading.apart.map(name).slice(0, 6).join(", ");
  const more = reading.apart.length > 6 ? " and others" : "";
  const who = reading.apart.length === 1 ? `Thread ${rest} shares` : `Threads ${rest}${more} share`;
  return { see: `${see} ${who} far less.`, advice };
}

function inWords(
  { shape, detail }: SharingReading,
  rows: string,
  name: (row: number) => string,
): { see: string; advice: string } {
  switch (shape) {
    case "none":
      return {
        see: "Threads share almost no pages: each thread works on its own pages.",
        advice:
          "No action needed. Pin the threads, and initialise each part in the thread that uses it.",
      };
    case "all":
      return {
        see: "All threads share with all others, about equally.",
        advice:
          "No placement is local for all threads. Copy data that is only read to every node, " +
          "interleave data that is written, or divide the work so that each thread has its own part.",
      };
    case "hub":
      return {
        see: `All threads share with thread ${name(detail)}, and almost not with each other.`,
        advice:
          "Usually one thread initialises data for the others, or collects their results. " +
          "Initialise each part in the thread that uses it, and keep the collected data small.",
      };
    case "neighbours":
      return {
        see:
          detail === 1
            ? `Neighbouring ${rows} share pages, as in a stencil.`
            : `Sharing reaches ${detail} ${rows} up and down, as in a stencil.`,
        advice:
          "This suits NUMA: pin the threads in order (OMP_PROC_BIND=close). Neighbours are then on one " +
          "node, and only the boundaries between nodes are remote.",
      };
    case "blocks":
      return {
        see: `Blocks of ${detail} ${rows} share pages with each other, and almost not with others.`,
        advice: "Put each block on one node: pin the threads in order, one block per node.",
      };
    case "mixed":
      return {
        see: "Threads share pages without a simple pattern.",
        advice:
          "Order the threads by shared pages (above the access distribution). Threads that share " +
          "many pages belong on the same node.",
      };
  }
}
