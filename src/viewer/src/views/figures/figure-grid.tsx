// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { drawAccesses, drawBars, drawFirstTouches } from "../../draw/maps";
import { linePixels } from "../../draw/thread-colour";
import type { Run } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { averages, binAccesses, binFirstTouches, columnBins, rowBins } from "../../model/bins";
import type { Binned } from "../../model/bins";
import { counting, knowsThreads, seesAccesses, unitOf } from "../../model/counting";
import * as show from "../../model/format";
import { threadSums } from "../../model/matrix";
import type { Matrix, Measure } from "../../model/matrix";
import { PageAxis } from "./axes";
import { Canvas } from "../elements/canvas";
import { CursorTooltip } from "./cursor-tooltip";
import { DifferencePlot } from "./difference-plot";
import type { FigureData } from "./figure-data";
import { MAP_COLOURS } from "./map-colours";
import type { Navigation } from "../page/navigation";
import { PageThreadPlot } from "./page-thread-plot";
import type { Cursor } from "./page-thread-plot";
import { usePageState } from "../page/page-state";

interface Props {
  data: FigureData;
  navigation: Navigation;
  largest: number;
  theme: Theme;
  /** Rows of this figure and of the one of another run beside it, if there is one. */
  rowsBeside?: number;
}

export function FigureGrid(props: Props) {
  const { data, navigation, largest, theme, rowsBeside } = props;
  const { report, matrix } = data;
  const { measure, scale, colourBy } = usePageState("measure", "scale", "colourBy");
  const { view } = navigation;
  const [cursor, setCursor] = useState<Cursor>();
  const [grid, width] = useWidth();
  const inputs = [matrix, view, measure, scale, largest, theme, colourBy];
  const grouped = data.arrangement.groups.length > 0;
  const selectable = rowsBeside === undefined;
  const shared = { data, navigation, cursor, onCursor: setCursor, inputs, selectable };
  useRedrawMeasure(navigation, inputs);
  return (
    <div class={grouped ? "figure-grid grouped" : "figure-grid"} ref={grid}>
      {seesAccesses(report.run) && <AccessPlots {...props} shared={shared} />}
      {knowsThreads(report.run) && <FirstTouchPlot {...props} shared={shared} />}
      <span />
      <PageAxis view={view} pageSize={report.run.page_size} width={width} />
      <span class="axis-name corner">page</span>
      {cursor && !navigation.brush && <CursorTooltip data={data} view={view} cursor={cursor} />}
    </div>
  );
}

interface SharedByPlots {
  data: FigureData;
  navigation: Navigation;
  cursor: Cursor | undefined;
  onCursor: (cursor: Cursor | undefined) => void;
  inputs: readonly unknown[];
  selectable: boolean;
}

/** Shows how often each thread accesses each page, with averages; and compares two groups. */
function AccessPlots({
  data,
  navigation,
  largest,
  theme,
  rowsBeside,
  shared,
}: Props & { shared: SharedByPlots }) {
  const { measure, scale } = usePageState("measure", "scale");
  const { matrix, threads } = data;
  const folded = useFolded(matrix, measure, navigation);
  const label = useMemo(() => describe(data, measure), [matrix, measure]);
  const height = plotHeights(rowsBeside ?? threads.length).accesses;
  return (
    <>
      <h3 class="wide">{accessTitle(data.report.run)}</h3>
      <span class="axis-name">average</span>
      <div class="column-bars">
        <Canvas
          class="column-average"
          aria-hidden="true"
          inputs={shared.inputs}
          draw={(surface) => {
            const rows = Math.round(height * surface.ratio);
            const { x, column } = folded({ width: surface.width, height: rows });
            drawBars(surface, x, column, "up", MAP_COLOURS[theme].bars);
          }}
        />
      </div>
      <span class="axis-name corner">{knowsThreads(data.report.run) && "per thread"}</span>
      <PageThreadPlot
        {...shared}
        name="accesses"
        label={label}
        height={height}
        draw={(surface) => drawAccesses(surface, folded(surface).binned, largest, scale, theme)}
        drawRows={(surface) => {
          const rows = folded({ width: undefined, height: surface.height });
          drawBars(surface, rows.binned.y, rows.row, "right", MAP_COLOURS[theme].bars);
        }}
      />
      {shared.selectable && (
        <DifferencePlot
          data={data}
          navigation={navigation}
          theme={theme}
          onCursor={shared.onCursor}
        />
      )}
    </>
  );
}

/** The title of the map of what is counted. */
export function accessTitle(run: Run): string {
  return counting(run) === "memory lines"
    ? "Memory lines by page and thread"
    : "Access distribution";
}

/** Shows which thread touched which page first. */
function FirstTouchPlot({
  data,
  navigation,
  theme,
  rowsBeside,
  shared,
}: Props & { shared: SharedByPlots }) {
  const { report, matrix, threads } = data;
  const { colourBy } = usePageState("colourBy");
  const { view } = navigation;
  const label = useMemo(() => describeFirstTouches(data), [matrix]);
  const { firstTouched } = useMemo(() => threadSums(matrix), [matrix]);
  return (
    <>
      <h3 class="wide">First touch</h3>
      <PageThreadPlot
        {...shared}
        name="first-touches"
        label={label}
        height={plotHeights(rowsBeside ?? threads.length).firstTouches}
        draw={(surface) => {
          const x = columnBins(matrix, view, surface.width);
          const y = rowBins(matrix.threads, view, surface.height);
          const touches = binFirstTouches(matrix, x, y);
          const colours = linePixels(report, data.arrangement.rows, colourBy, theme);
          drawFirstTouches(surface, x, y, touches, colours);
        }}
        drawRows={(surface) => {
          const y = rowBins(matrix.threads, view, surface.height);
          const sums = new Float64Array(y.left.length);
          y.binOf.forEach((bin, i) => (sums[bin]! += firstTouched[y.first + i]!));
          drawBars(surface, y, sums, "right", MAP_COLOURS[theme].bars);
        }}
      />
    </>
  );
}

/** Heights in pixels, which grow with the number of threads up to a limit. */
export function plotHeights(threads: number): { accesses: number; firstTouches: number } {
  const accesses = Math.max(300, Math.min(520, threads * 14));
  return { accesses, firstTouches: Math.round(Math.max(110, accesses * 0.5)) };
}

/** The name of the measured time from the reader's action until the figures are drawn. */
export const REDRAW = "numascape:redraw";

function useRedrawMeasure({ askedAt }: Navigation, inputs: readonly unknown[]): void {
  useLayoutEffect(() => {
    const start = askedAt.current;
    askedAt.current = undefined;
    if (start !== undefined) performance.measure(REDRAW, { start, end: performance.now() });
  }, inputs);
}

interface Folded {
  binned: Binned;
  x: Binned["x"];
  column: Float64Array;
  row: Float64Array;
}

/**
 * The matrix at the map's resolution, computed once per view and size: the bars beside the map show
 * the same bins. The bars on the right do not know the map's width, and use the latest one.
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

function describe({ report, matrix, threads }: FigureData, measure: Measure): string {
  const { reads, writes } = threadSums(matrix);
  const of = (row: number) =>
    (measure === "writes" ? 0 : reads[row]!) + (measure === "reads" ? 0 : writes[row]!);
  const users = threads.filter((_, row) => of(row) > 0);
  const unit = unitOf(report.run, measure);
  return `${unit[0]!.toUpperCase()}${unit.slice(1)} by page and thread; threads: ${numbers(users)}. Numbers are in the table below.`;
}

function describeFirstTouches({ matrix, threads }: FigureData): string {
  const { firstTouched } = threadSums(matrix);
  const touchers = threads.filter((_, row) => firstTouched[row]! > 0);
  return `Threads that touched pages first: ${numbers(touchers)}.`;
}

function numbers(threads: { thread: number }[]): string {
  return show.ranges(threads.map(({ thread }) => thread).sort((a, b) => a - b));
}
