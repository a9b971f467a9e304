// SPDX-License-Identifier: Apache-2.0
// What a reader should look at first: structures that need the same thing, most at stake first.

import type { Structure } from "../data/report";

export interface Group {
  verdict: string;
  advice: string;
  /** Positions, most accesses first. */
  positions: number[];
  /** Share of the run's accesses that the advice could bring nearer. */
  stake: number;
}

/** Below this share of the accesses nothing stands out. */
const MINOR = 0.005;

export function standingOut(structures: Structure[], accesses: number, most = 3): Group[] {
  const groups = new Map<string, Group>();
  structures.forEach(({ reading }, position) => {
    if (reading.stake <= 0) return;
    const advice = reading.advice[0] ?? "";
    const key = `${reading.verdict}\n${advice}`;
    const group = groups.get(key) ?? { verdict: reading.verdict, advice, positions: [], stake: 0 };
    group.positions.push(position);
    group.stake += reading.stake / Math.max(1, accesses);
    groups.set(key, group);
  });
  return [...groups.values()]
    .filter(({ stake }) => stake >= MINOR)
    .sort((a, b) => b.stake - a.stake)
    .slice(0, most);
}
