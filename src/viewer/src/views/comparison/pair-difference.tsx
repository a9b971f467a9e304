// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { drawDifferenceMap } from "../../draw/difference";
import type { Surface } from "../../draw/surface";
import { binAccesses, columnBins, rowBins } from "../../model/bins";
import { seesAccesses, unitOf } from "../../model/counting";
import * as show from "../../model/format";
import { largestDifference, touchesAsAccesses } from "../../model/joint";
import type { Joint } from "../../model/joint";
import type { Measure, ScaleEnd } from "../../model/matrix";
import { Canvas } from "../elements/canvas";
import { PageAxis, ThreadAxis } from "../figures/axes";
import { DifferenceLegend, scaleText } from "../figures/difference-plot";
import { accessTitle, plotHeights } from "../figures/figure-grid";
import { BrushBox, cursorHandlers } from "../figures/page-thread-plot";
import type { Cursor } from "../figures/page-thread-plot";
import type { Navigation } from "../page/navigation";
import { usePageState } from "../page/page-state";
import { useWidth } from "../page/use-width";
import { PairTooltip } from "./pair-tooltip";
import { RunTitle } from "./run-title";

interface Props {
  reports: [Report, Report];
  joint: Joint;
  /** The scale of the accesses of A and of B. */
  scale: ScaleEnd;
  navigation: Navigation;
  theme: Theme;
}

/** The third column: what A has more, and what B has more, by page and thread. */
export function PairDifference({ reports, joint, scale, navigation, theme }: Props) {
  const { measure } = usePageState("measure");
  const [cursor, setCursor] = useState<Cursor>();
  const [grid, width] = useWidth<HTMLDivElement>();
  const touches = useMemo(
    () => ({ a: touchesAsAccesses(joint.a), b: touchesAsAccesses(joint.b) }),
    [joint],
  );
  const { run } = reports[0];
  const heights = plotHeights(joint.a.threads);
  const shared = { reports, navigation, theme, onCursor: setCursor };
  return (
    <div>
      <RunTitle letter="A − B" name="the difference" />
      <div class="figure-grid" ref={grid}>
        {seesAccesses(run) && (
          <DifferenceMap
            {...shared}
            name="pair-accesses"
            title={accessTitle(run)}
            unit={unitOf(run, measure)}
            end={scale.end}
            joint={joint}
            measure={measure}
            told={(largest) => scaleText(scale, largest, `${unitOf(run, measure)} per page`)}
            height={heights.accesses}
          />
        )}
        <DifferenceMap
          {...shared}
          name="pair-touches"
          title="First touch"
          unit="pages touched first"
          end={1}
          ends={["first only in B", "first only in A"]}
          joint={touches}
          told={() => "The thread touches the page first in one of the runs only."}
          measure="both"
          height={heights.firstTouches}
          axis={<PageAxis view={navigation.view} pageSize={run.page_size} width={width} />}
        />
      </div>
      {cursor && !navigation.brush && (
        <PairTooltip reports={reports} joint={joint} view={navigation.view} cursor={cursor} />
      )}
    </div>
  );
}

interface MapProps extends Omit<Props, "joint" | "scale"> {
  name: string;
  title: string;
  unit: string;
  /** The end of the scale. */
  end: number;
  /** What the ends of the colours mean. */
  ends?: readonly [string, string] | undefined;
  /** What the strongest colour means; `largest` is the largest difference. */
  told: (largest: number) => string;
  joint: Joint;
  measure: Measure;
  height: number;
  /** The axis below the last map. With it, the legend is below the axis, else above the map. */
  axis?: ComponentChildren;
  onCursor: (cursor: Cursor | undefined) => void;
}

function DifferenceMap(props: MapProps) {
  const { name, title, unit, end, ends, told, joint, measure, height, axis } = props;
  const { reports, navigation, theme, onCursor } = props;
  const { scale } = usePageState("scale");
  const { view } = navigation;
  const largest = useMemo(() => largestDifference(joint, measure), [joint, measure]);
  const threads = reports.map((report) => report.threads);
  const longer = threads[0]!.length >= threads[1]!.length ? threads[0]! : threads[1]!;
  const draw = (surface: Surface) => {
    const x = columnBins(joint.a, view, surface.width);
    const y = rowBins(joint.a.threads, view, surface.height);
    const a = binAccesses(joint.a, measure, x, y);
    const b = binAccesses(joint.b, measure, x, y);
    drawDifferenceMap(surface, a, b, end, scale, theme);
  };
  const above = axis === undefined;
  const legend = (
    <div class="difference-scale" key="legend">
      <DifferenceLegend {...{ largest, ends, theme }} told={told(largest)} />
    </div>
  );
  return (
    <>
      <h3 class="wide">{title}</h3>
      {above && [<span key="before" />, legend]}
      <ThreadAxis view={view} threads={longer} groups={[]} height={height} marked={[]} />
      <div
        class={`plot ${name}`}
        style={{ height: `${height}px` }}
        {...navigation.pointer}
        {...cursorHandlers(navigation, onCursor)}
      >
        <Canvas
          class={name}
          role="img"
          aria-label={`${title}: ${unit} of A minus those of B, by page and thread; at most ${show.short(largest)} per page. Numbers are in the saved table.`}
          inputs={[joint, view, measure, scale, theme, end]}
          draw={draw}
        />
        {navigation.brush && <BrushBox {...navigation.brush} />}
      </div>
      {!above && [<span key="before" />, axis, <span key="between" />, legend]}
    </>
  );
}
