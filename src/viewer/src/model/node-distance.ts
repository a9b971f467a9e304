// SPDX-License-Identifier: Apache-2.0
// The NUMA factors between nodes.

import type { Machine } from "../data/report";
import type { NodeTraffic } from "./traffic";

export interface NodePair {
  /** Read latency over that of the threads' own node; undefined: unknown. */
  factor: number | undefined;
  /** Read latency in ns. */
  latency: number | undefined;
}

const UNKNOWN: NodePair = { factor: undefined, latency: undefined };

/** The known values for threads on one node and pages on another, by the nodes' numbers. */
export function pairOf({ nodes, distance }: Machine, threads?: number, pages?: number): NodePair {
  const row = nodes.findIndex(({ node }) => node === threads);
  const column = nodes.findIndex(({ node }) => node === pages);
  if (!distance || row < 0 || column < 0) return UNKNOWN;
  return {
    factor: distance.factors[row]?.[column] ?? undefined,
    latency: distance.latencies[row]?.[column] ?? undefined,
  };
}

/** The share of accesses with a known factor that is needed to show their mean. */
const KNOWN = 0.9;

/**
 * The mean NUMA factor of the accesses: the time of an access to memory over that of a local one,
 * as far as latency decides. Undefined if too little is known.
 */
export function meanFactor(machine: Machine, traffic: NodeTraffic): number | undefined {
  const { nodes, size, accesses } = traffic;
  let weighted = 0;
  let known = 0;
  let all = 0;
  accesses.forEach((number, i) => {
    const { factor } = pairOf(machine, nodes[Math.floor(i / size)], nodes[i % size]);
    all += number;
    if (factor === undefined) return;
    known += number;
    weighted += number * factor;
  });
  return all > 0 && known >= KNOWN * all ? weighted / known : undefined;
}

export function factorText(factor: number): string {
  return `× ${factor.toFixed(2)}`;
}
