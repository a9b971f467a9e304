// SPDX-License-Identifier: Apache-2.0
// Keys that change what the figures show; those that move in them are in navigation.ts.

import type { Count, PageState, ThreadOrder } from "../../model/page-state";
import type { Measure } from "../../model/matrix";
import type { FigureData } from "./figure-data";
import type { Navigation } from "../page/navigation";
import { useChangePage } from "../page/page-state";

const ORDERS: readonly ThreadOrder[] = ["number", "node", "sharing"];
const COUNTS: readonly Count[] = ["lines", "accesses"];
const MEASURES: readonly Measure[] = ["both", "reads", "writes"];

export function useFigureKeys(
  navigation: Navigation,
  { arrangement, report }: FigureData,
): (event: KeyboardEvent) => void {
  const change = useChangePage();
  const lines = report.memory_lines !== undefined;
  const visible = () => {
    const { y0, y1 } = navigation.view;
    const rows = arrangement.rows.subarray(Math.floor(y0), Math.ceil(y1));
    return [...rows].sort((a, b) => a - b);
  };
  const changes: Record<string, (state: PageState) => Partial<PageState>> = {
    a: () => ({ groupA: visible() }),
    b: () => ({ groupB: visible() }),
    c: () => ({ groupA: [], groupB: [] }),
    o: ({ order }) => ({ order: next(ORDERS, order) }),
    n: ({ count }) => (lines ? { count: next(COUNTS, count) } : {}),
    m: ({ measure }) => ({ measure: next(MEASURES, measure) }),
    l: ({ scale }) => ({ scale: scale === "log" ? "linear" : "log" }),
  };
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // Input fields and lists handle these keys themselves.
    if ((event.target as HTMLElement).closest("input[type=text], select, dialog")) return;
    const wanted = changes[event.key];
    if (wanted) change(wanted);
    else return navigation.onKeyDown(event);
    event.preventDefault();
  };
}

function next<T>(values: readonly T[], present: T): T {
  return values[(values.indexOf(present) + 1) % values.length]!;
}
