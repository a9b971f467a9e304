// SPDX-License-Identifier: Apache-2.0
// What a run's counts are counts of: not every recorder sees every access.

import type { Run } from "../data/report";

/** `first touches`: one for each page, and nothing of later accesses. */
export type Counting = "accesses" | "first touches" | "samples";

export function counting({ recorder }: Run): Counting {
  return recorder.counts ?? "accesses";
}

/** Whether accesses after a page's first one are in the counts. */
export function seesAccesses(run: Run): boolean {
  return counting(run) !== "first touches";
}

/** Half the width of the interval that holds a share of one half in 95 of 100 samplings. */
export function shareError(samples: number): number {
  return samples > 0 ? Math.min(1, 0.98 / Math.sqrt(samples)) : 1;
}
