// SPDX-License-Identifier: Apache-2.0
// Orders threads such that threads that share pages are neighbours.
//
// Two threads are alike if much of their accesses goes to the same pages: the sum over columns of
// the smaller of their two shares of accesses there. Threads are merged by average linkage, with the
// nearest-neighbour chain (Murtagh 1983), O(n^2). Each merge then turns its two halves so that the
// two threads at the seam are most alike. Everything is deterministic.

import type { Matrix } from "./matrix";

/** Maximum number of pairs of threads to compare in columns; with more, columns are sampled. */
const PAIRS = 3_000_000;
/** If there are more threads, stretches of neighbours are clustered instead of threads. */
const MAX_ROWS = 1400;
/** Weight of being near in the structure, for threads that share nothing. */
const NEARNESS = 1e-3;

const kept = new WeakMap<Matrix, Uint32Array>();

/** Rows in order; those without accesses last. */
export function clusterOrder(matrix: Matrix): Uint32Array {
  let order = kept.get(matrix);
  if (!order) kept.set(matrix, (order = cluster(matrix)));
  return order;
}

function cluster(matrix: Matrix): Uint32Array {
  const { rowBegin } = matrix.accesses;
  const used: number[] = [];
  const unused: number[] = [];
  for (let row = 0; row < matrix.threads; row++) {
    (rowBegin[row]! < rowBegin[row + 1]! ? used : unused).push(row);
  }
  const together = Math.ceil(used.length / MAX_ROWS) || 1;
  const items = Math.ceil(used.length / together);
  if (items < 3) return Uint32Array.of(...used, ...unused);
  const itemOf = new Int32Array(matrix.threads).fill(-1);
  used.forEach((row, i) => (itemOf[row] = Math.floor(i / together)));
  const centre = centres(matrix, itemOf, items);
  const alike = likeness(matrix, itemOf, items, centre);
  const leaves = seriate(merges(Float32Array.from(alike), items), alike, items, centre);
  const order = leaves.flatMap((item) => used.slice(item * together, (item + 1) * together));
  return Uint32Array.from([...order, ...unused]);
}

/** Mean column of each item's accesses, 0 .. 1. */
function centres(matrix: Matrix, itemOf: Int32Array, items: number): Float64Array {
  const { rowBegin, column, reads, writes } = matrix.accesses;
  const sum = new Float64Array(items);
  const weight = new Float64Array(items);
  for (let row = 0; row < matrix.threads; row++) {
    const item = itemOf[row]!;
    for (let i = rowBegin[row]!; item >= 0 && i < rowBegin[row + 1]!; i++) {
      const accesses = reads[i]! + writes[i]!;
      sum[item]! += accesses * column[i]!;
      weight[item]! += accesses;
    }
  }
  const columns = Math.max(1, matrix.start.length);
  return sum.map((value, item) => (weight[item]! > 0 ? value / weight[item]! / columns : 1));
}

/** The users of the chosen columns; `share`: the part of its accesses that a user makes there. */
function byColumn(matrix: Matrix, itemOf: Int32Array, items: number) {
  const { rowBegin, column, reads, writes } = matrix.accesses;
  const users = new Uint32Array(matrix.start.length);
  for (let i = 0; i < column.length; i++) users[column[i]!]!++;
  const chosen = sampled(users);
  const begin = new Uint32Array(users.length + 1);
  for (let c = 0; c < users.length; c++) begin[c + 1] = begin[c]! + (chosen[c] ? users[c]! : 0);
  const next = begin.slice();
  const item = new Uint32Array(begin[users.length]!);
  const accesses = new Float32Array(item.length);
  const total = new Float64Array(items);
  for (let row = 0; row < matrix.threads; row++) {
    const own = itemOf[row]!;
    for (let i = rowBegin[row]!; i < rowBegin[row + 1]!; i++) {
      const here = reads[i]! + writes[i]!;
      total[own]! += here;
      const c = column[i]!;
      if (!chosen[c]) continue;
      const at = next[c]!++;
      item[at] = own;
      accesses[at] = here;
    }
  }
  const share = accesses.map((here, at) => here / Math.max(1, total[item[at]!]!));
  return { begin, item, share };
}

/** 1 for columns to look at: as many as PAIRS allows, spread over the structure. */
function sampled(users: Uint32Array): Uint8Array {
  const chosen = new Uint8Array(users.length);
  let left = PAIRS;
  for (const c of spread(users.length)) {
    const pairs = (users[c]! * (users[c]! - 1)) / 2;
    if (pairs > left) continue;
    left -= pairs;
    chosen[c] = 1;
  }
  return chosen;
}

/** How alike each pair of items is: symmetric, items x items. */
function likeness(
  matrix: Matrix,
  itemOf: Int32Array,
  items: number,
  centre: Float64Array,
): Float32Array {
  const { begin, item, share } = byColumn(matrix, itemOf, items);
  const alike = new Float32Array(items * items);
  for (let c = 0; c < matrix.start.length; c++) {
    const from = begin[c]!;
    const to = begin[c + 1]!;
    for (let i = from; i < to; i++) {
      const own = share[i]!;
      const row = item[i]! * items;
      // Items ascend within a column, so only the upper triangle is computed.
      for (let j = i + 1; j < to; j++) {
        const other = share[j]!;
        alike[row + item[j]!]! += own < other ? own : other;
      }
    }
  }
  for (let i = 0; i < items; i++) {
    alike[i * items + i] = 0;
    for (let j = i + 1; j < items; j++) {
      const near = NEARNESS * (1 - Math.abs(centre[i]! - centre[j]!));
      alike[j * items + i] = alike[i * items + j]! += near;
    }
  }
  return alike;
}

/** The numbers 0 .. count - 1 in an order in which any first part is spread evenly over all. */
function* spread(count: number): Generator<number> {
  let step = Math.max(1, Math.round(count * 0.618));
  while (step > 1 && divisor(step, count) > 1) step--;
  for (let i = 0, c = 0; i < count; i++, c = (c + step) % count) yield c;
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

interface Merge {
  a: number;
  b: number;
}

/**
 * Merges in an order in which parts exist before they are merged again; the merged cluster keeps
 * the number of `a`. Overwrites `alike`.
 */
function merges(alike: Float32Array, items: number): Merge[] {
  const size = new Uint32Array(items).fill(1);
  const alive = Uint32Array.from({ length: items }, (_, i) => i);
  let count = items;
  const found: Merge[] = [];
  const chain: number[] = [];
  while (count > 1) {
    if (chain.length === 0) chain.push(alive[0]!);
    const top = chain[chain.length - 1]!;
    const before = chain[chain.length - 2] ?? -1;
    // If several are equal, prefer the predecessor, so that the chain ends.
    let nearest = before;
    let most = before >= 0 ? alike[top * items + before]! : -1;
    for (let k = 0; k < count; k++) {
      const other = alive[k]!;
      if (other === top) continue;
      const value = alike[top * items + other]!;
      if (value > most) {
        most = value;
        nearest = other;
      }
    }
    if (nearest !== before) {
      chain.push(nearest);
      continue;
    }
    chain.length -= 2;
    const [a, b] = top < before ? [top, before] : [before, top];
    found.push({ a, b });
    count = without(alive, count, b);
    const weight = size[a]! / (size[a]! + size[b]!);
    for (let k = 0; k < count; k++) {
      const other = alive[k]!;
      if (other === a) continue;
      const mean = weight * alike[a * items + other]! + (1 - weight) * alike[b * items + other]!;
      alike[a * items + other] = alike[other * items + a] = mean;
    }
    size[a]! += size[b]!;
  }
  return found;
}

/** Takes `value` out of the first `count` of ascending numbers; returns how many are left. */
function without(numbers: Uint32Array, count: number, value: number): number {
  const at = numbers.subarray(0, count).indexOf(value);
  numbers.copyWithin(at, at + 1, count);
  return count - 1;
}

function seriate(
  found: Merge[],
  alike: Float32Array,
  items: number,
  centre: Float64Array,
): number[] {
  const parts: number[][] = Array.from({ length: items }, (_, i) => [i]);
  for (const { a, b } of found) {
    const [left, right] = [parts[a]!, parts[b]!];
    const seams = [
      [left, right, false, false],
      [left, right, true, false],
      [left, right, false, true],
      [left, right, true, true],
    ] as const;
    let best = seams[0] as (typeof seams)[number];
    let most = -1;
    for (const seam of seams) {
      const end = seam[2] ? left[0]! : left[left.length - 1]!;
      const start = seam[3] ? right[right.length - 1]! : right[0]!;
      const value = alike[end * items + start]!;
      if (value > most) {
        most = value;
        best = seam;
      }
    }
    if (best[2]) left.reverse();
    if (best[3]) right.reverse();
    parts[a] = left.concat(right);
    parts[b] = [];
  }
  const order = parts[0]!;
  if (centre[order[0]!]! > centre[order[order.length - 1]!]!) order.reverse();
  return order;
}
