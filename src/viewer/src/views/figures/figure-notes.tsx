// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import { counting, knowsThreads, seesAccesses } from "../../model/counting";
import * as show from "../../model/format";
import { HUGE_PAGE, sharedColumns } from "../../model/page-unit";
import type { FigureData } from "./figure-data";
import { usePageState } from "../page/page-state";
import type { Detail } from "./use-detail";

/** Sentences below the figures about what their columns and rows stand for at present. */
export function FigureNotes({ data, detail }: { data: FigureData; detail: Detail }) {
  const { structure, report, unordered, per, aligned } = data;
  const { order } = usePageState("order");
  const perColumn = detail.pagesPerColumn;
  const served = perColumn < structure.pages_per_column;
  const { single, shared } = useMemo(() => sharedColumns(unordered), [unordered]);
  const columns = per > 1 ? `pages of ${show.bytes(HUGE_PAGE)}` : "pages";
  const exact = structure.pages_per_column === 1;
  return (
    <p class="hint">
      Drag to zoom into a part, double-click to show everything, press <kbd>?</kbd> for all keys.
      {exact &&
        seesAccesses(report.run) &&
        knowsThreads(report.run) &&
        single + shared > 0 &&
        (counting(report.run) === "memory lines"
          ? ` Of the ${show.count(single + shared)} ${columns} with memory lines, ${show.count(shared)} have lines that several threads fetch.`
          : ` Of the ${show.count(single + shared)} ${columns} in use, ${show.count(shared)} are used by several threads.`)}
      {served && perColumn === 1 && " This part shows single pages, from the full trace."}
      {detail.problem !== undefined &&
        ` Single pages cannot be shown (${detail.problem}). Check that numascape view still runs.`}
      {!exact &&
        perColumn > 1 &&
        ` Each column sums up ${show.count(perColumn)} pages (${show.bytes(perColumn * report.run.page_size)}).`}
      {!exact && per > 1 && "  The boundaries of 2 MiB pages are rounded to these columns."}
      {!aligned &&
        "  The address of this structure was not recorded, or its instances have different offsets. Therefore 2 MiB pages are counted from its start."}
      {order === "sharing" &&
        "  Threads that use the same pages are neighbours. Threads without accesses come last."}
      {order === "node" &&
        data.arrangement.groups.length === 1 &&
        "  All threads ran on the same node, or their nodes are unknown."}
    </p>
  );
}
