// SPDX-License-Identifier: Apache-2.0
// The figures' data, with single pages if the view is too narrow for the report's columns.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fetchWindow } from "../../data/detail";
import { pageWindow, serves, windowFor } from "../../model/page-window";
import type { PageWindow } from "../../model/page-window";
import { counting } from "../../model/counting";
import { foldPages, pagesBefore } from "../../model/page-unit";
import { inOrder } from "../../model/thread-order";
import type { Viewport } from "../../model/viewport";
import type { FigureData } from "./figure-data";
import { usePageState } from "../page/page-state";

export interface Detail {
  data: FigureData;
  /** Pages that a column of `data` sums up at most. */
  pagesPerColumn: number;
  /** The reason why expected detail is missing. */
  problem: string | undefined;
}

/** Windows kept, so that a return to an earlier view needs no request. */
const KEPT = 8;

export function useDetail(data: FigureData, view: Viewport): Detail {
  const { report, structure } = data;
  const { phases } = usePageState("phases");
  const [windows, setWindows] = useState<PageWindow[]>([]);
  const [problem, setProblem] = useState<string>();
  const asked = useRef<AbortController>();
  const url = report.run.detail_url;
  const lines = counting(report.run) === "memory lines";
  const wanted = url === undefined ? undefined : windowFor(structure, view, phases, lines);
  const found = wanted && windows.find((window) => serves(window, wanted, view));

  useEffect(() => {
    asked.current?.abort();
    if (url === undefined || !wanted || found) return;
    const request = new AbortController();
    asked.current = request;
    const size = { threads: report.threads.length, length: data.matrix.length };
    fetchWindow(url, wanted, request.signal).then(
      (answer) => {
        setProblem(undefined);
        const window = pageWindow(answer, wanted, size);
        setWindows((kept) => [window, ...kept.slice(0, KEPT - 1)]);
      },
      (error: unknown) => {
        if (!request.signal.aborted) setProblem(error instanceof Error ? error.message : "");
      },
    );
  }, [url, structure, phases, lines, view.x0, view.x1, found]);

  const detailed = useMemo(() => {
    if (!found) return data;
    const before = pagesBefore(data.per, report.run.page_size, structure.address_offset);
    const folded = foldPages(found.matrix, data.per, before);
    return { ...data, matrix: inOrder(folded, data.arrangement) };
  }, [found, data.matrix, data.arrangement, data.per]);
  return {
    data: detailed,
    pagesPerColumn: found?.pagesPerColumn ?? structure.pages_per_column,
    problem: wanted && !found ? problem : undefined,
  };
}
