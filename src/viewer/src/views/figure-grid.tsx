// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Report } from "../data/report";
import type { Scale, Theme } from "../draw/colour";
import { drawAccesses, drawBars, drawFirstTouches } from "../draw/maps";
import { averages, binAccesses, binFirstTouches, columnBins, rowBins } from "../model/bins";
import type { Binned } from "../model/bins";
import * as show from "../model/format";
import { threadSums } from "../model/matrix";
import type { Matrix, Measure } from "../model/matrix";
import { PageAxis } from "./axes";
import { Canvas } from "./canvas";
import type { Navigation } from "./navigation";
import { PageThreadPlot } from "./page-thread-plot";
import type { Cursor } from "./page-thread-plot";
import { CursorTooltip } from "./cursor-tooltip";

interface Props {
  report: Report;
  matrix: Matrix;
  navigation: Navigation;
  measure: Measure;
  scale: Scale;
  largest: number;
  theme: Theme;
}

/** Bars, and bars that end at the border. */
const BARS = {
  light: ["#a9b8c8", "#b5540a"],
  dark: ["#536475", "#f0a35a"],
  grey: ["#b0b0b0", "#1c1c1c"],
} as const;

export function FigureGrid(props: Props) {
  const { report, matrix, navigation, measure, scale, largest, theme } = props;
  const { view } = navigation;
  const { threads } = report;
  const [cursor, setCursor] = useState<Cursor>();
  const [grid, width] = useWidth();
  const folded = useFolded(matrix, measure, navigation);
  const inputs = [matrix, view, measure, scale, largest, theme];
  const heights = plotHeights(threads.length);
  return (
    <div class="figure-grid" ref={grid}>
      <h3 class="wide">Access distribution</h3>
      <span class="axis-name">average</span>
      <div class="column-bars">
        <Canvas
          class="column-average"
          aria-hidden="true"
          inputs={inputs}
          draw={(surface) => {
            const height = Math.round(heights.accesses * surface.ratio);
            const { x, column } = folded({ width: surface.width, height });
            drawBars(surface, x, column, "up", BARS[theme]);
          }}
        />
      </div>
      <span class="axis-name corner">per thread</span>
      <PageThreadPlot
        name="accesses"
        label={describe(report, matrix, measure)}
        height={heights.accesses}
        threads={threads}
        navigation={navigation}
        cursor={cursor}
        onCursor={setCursor}
        inputs={inputs}
        draw={(surface) => drawAccesses(surface, folded(surface).binned, largest, scale, theme)}
        drawRows={(surface) => {
          const rows = folded({ width: undefined, height: surface.height });
          drawBars(surface, rows.binned.y, rows.row, "right", BARS[theme]);
        }}
      />
      <h3 class="wide">First touch</h3>
      <PageThreadPlot
        name="first-touches"
        label={describeFirstTouches(matrix, report)}
        height={heights.firstTouches}
        threads={threads}
        navigation={navigation}
        cursor={cursor}
        onCursor={setCursor}
        inputs={inputs}
        draw={(surface) => {
          const x = columnBins(matrix, view, surface.width);
          const y = rowBins(matrix.threads, view, surface.height);
          const touches = binFirstTouches(matrix, x, y);
          drawFirstTouches(surface, x, y, touches, matrix.threads, theme);
        }}
        drawRows={(surface) => {
          const y = rowBins(matrix.threads, view, surface.height);
          const sums = new Float64Array(y.left.length);
          const { firstTouched } = threadSums(matrix);
          y.binOf.forEach((bin, i) => (sums[bin]! += firstTouched[y.first + i]!));
          drawBars(surface, y, sums, "right", BARS[theme]);
        }}
      />
      <span />
      <PageAxis view={view} pageSize={report.run.page_size} width={width} />
      <span class="axis-name corner">page</span>
      {cursor && !navigation.brush && (
        <CursorTooltip report={report} matrix={matrix} view={view} cursor={cursor} />
      )}
    </div>
  );
}

/** Heights in pixels that leave every thread at least a pixel up to the screen's height. */
function plotHeights(threads: number): { accesses: number; firstTouches: number } {
  const accesses = Math.max(300, Math.min(520, threads * 14));
  return { accesses, firstTouches: Math.round(Math.max(110, accesses * 0.5)) };
}

interface Folded {
  binned: Binned;
  x: Binned["x"];
  column: Float64Array;
  row: Float64Array;
}

/**
 * The matrix at the map's resolution, computed once per view and size: the bars beside the map show
 * the same bins. Those on the right do not know its width and take the latest.
 */
function useFolded(matrix: Matrix, measure: Measure, { view }: Navigation) {
  const kept = useRef<{ key: unknown[]; folded: Folded }>();
  const latestWidth = useRef(1);
  return (size: { width: number | undefined; height: number }): Folded => {
    const { width = latestWidth.current, height } = size;
    latestWidth.current = width;
    const key = [matrix, measure, view, width, height];
    if (kept.current?.key.every((part, i) => part === key[i])) return kept.current.folded;
    const x = columnBins(matrix, view, width);
    const binned = binAccesses(matrix, measure, x, rowBins(matrix.threads, view, height));
    const folded = { binned, x, ...averages(binned) };
    kept.current = { key, folded };
    return folded;
  };
}

function useWidth() {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return [element, width] as const;
}

function describe(report: Report, matrix: Matrix, measure: Measure): string {
  const { reads, writes } = threadSums(matrix);
  const of = (row: number) =>
    (measure === "writes" ? 0 : reads[row]!) + (measure === "reads" ? 0 : writes[row]!);
  const users = report.threads.filter((_, row) => of(row) > 0).map(({ thread }) => thread);
  const what = measure === "both" ? "Accesses" : measure === "reads" ? "Reads" : "Writes";
  return `${what} by page and thread; threads: ${show.ranges(users)}. Numbers are in the table below.`;
}

function describeFirstTouches(matrix: Matrix, report: Report): string {
  const { firstTouched } = threadSums(matrix);
  const touchers = report.threads.filter((_, row) => firstTouched[row]! > 0);
  return `Threads that touched pages first: ${show.ranges(touchers.map(({ thread }) => thread))}.`;
}
