// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import { drawDifference, drawDifferenceScale } from "../../draw/difference";
import type { Theme } from "../../draw/colour";
import { columnBins } from "../../model/bins";
import { unitOf } from "../../model/counting";
import { differenceOf, groupMeans, mostDifferent, overlap } from "../../model/difference";
import type { Difference } from "../../model/difference";
import * as show from "../../model/format";
import { Canvas } from "../elements/canvas";
import { groupName } from "./compared";
import { linesOf } from "./figure-data";
import type { FigureData } from "./figure-data";
import type { Navigation } from "../page/navigation";
import { BrushBox, cursorHandlers } from "./page-thread-plot";
import type { Cursor } from "./page-thread-plot";
import { usePageState } from "../page/page-state";

interface Props {
  data: FigureData;
  navigation: Navigation;
  theme: Theme;
  onCursor: (cursor: Cursor | undefined) => void;
}

/** Two groups of threads, page by page, and what one has more; nothing until both are chosen. */
export function DifferencePlot(props: Props) {
  const { groupA, groupB } = usePageState("groupA", "groupB");
  if (groupA.length === 0 || groupB.length === 0) return null;
  return <Plot {...props} groupA={groupA} groupB={groupB} />;
}

interface PlotProps extends Props {
  groupA: readonly number[];
  groupB: readonly number[];
}

function Plot({ data, navigation, theme, onCursor, groupA, groupB }: PlotProps) {
  const { measure, scale } = usePageState("measure", "scale");
  const { matrix, arrangement, report } = data;
  const { view } = navigation;
  const linesA = useMemo(() => linesOf(groupA, arrangement), [groupA, arrangement]);
  const linesB = useMemo(() => linesOf(groupB, arrangement), [groupB, arrangement]);
  const difference = useMemo(
    () => differenceOf(matrix, measure, linesA, linesB),
    [matrix, measure, linesA, linesB],
  );
  const nameA = groupName(groupA, report.threads);
  const nameB = groupName(groupB, report.threads);
  const unit = unitOf(report.run, measure);
  const common = overlap(matrix, difference);
  const inputs = [difference, view, scale, theme];
  return (
    <>
      <h3 class="wide">
        Difference: A ({nameA}) against B ({nameB})
      </h3>
      <div class="band-names" aria-hidden="true">
        <span style={{ top: "15%" }}>A</span>
        <span style={{ top: "49%" }}>B</span>
        <span style={{ top: "84%" }}>A − B</span>
      </div>
      <div
        class="plot difference"
        data-axis="x"
        {...navigation.pointer}
        {...cursorHandlers(navigation, () => onCursor(undefined))}
      >
        <Canvas
          class="difference"
          role="img"
          aria-label={
            `By page, the ${unit} of A, ${nameA}, of B, ${nameB}, and their difference. ` +
            `${show.share(common)} of their ${unit} have the same distribution over pages.`
          }
          inputs={inputs}
          draw={(surface) => {
            const x = columnBins(matrix, view, surface.width);
            const a = groupMeans(matrix, measure, x, linesA);
            const b = groupMeans(matrix, measure, x, linesB);
            const [largestMean, largestMore] = [difference.mean.end, difference.more.end];
            drawDifference(surface, { x, a, b, largestMean, largestMore }, scale, theme);
          }}
        />
        {navigation.brush && <BrushBox {...navigation.brush} />}
      </div>
      <span />
      <div class="wide difference-notes">
        <div class="legend">
          <span>B has {show.short(difference.more.end)} more</span>
          <Canvas
            class="gradient"
            aria-hidden="true"
            inputs={[theme]}
            draw={(surface) => drawDifferenceScale(surface, theme)}
          />
          <span>
            A has {show.short(difference.more.end)} more {unit} per page and thread
          </span>
        </div>
        <p>
          {show.share(common)} of their {unit} are spread alike over the pages: at 100{"\u202f"}%
          both groups use the same pages equally, at 0{"\u202f"}% they share none and may live on
          different nodes.
        </p>
        <MostDifferent data={data} difference={difference} unit={unit} />
      </div>
    </>
  );
}

const LISTED = 20;

function MostDifferent({
  data,
  difference,
  unit,
}: {
  data: FigureData;
  difference: Difference;
  unit: string;
}) {
  const { matrix } = data;
  return (
    <details>
      <summary>The pages in which they differ most, as a table</summary>
      <div
        class="scroll"
        tabIndex={0}
        role="region"
        aria-label="Pages in which A and B differ most"
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Pages</th>
              <th scope="col" class="number">
                A, {unit} per page and thread
              </th>
              <th scope="col" class="number">
                B
              </th>
              <th scope="col" class="number">
                A − B
              </th>
            </tr>
          </thead>
          <tbody>
            {mostDifferent(matrix, difference, LISTED).map((c) => {
              const first = matrix.start[c]!;
              const [a, b] = [difference.a[c]!, difference.b[c]!];
              return (
                <tr key={c}>
                  <th scope="row">
                    {show.ranges([first], undefined)}
                    {matrix.pages[c]! > 1 && `–${first + matrix.pages[c]! - 1}`}
                  </th>
                  <td class="number">{show.short(a)}</td>
                  <td class="number">{show.short(b)}</td>
                  <td class="number">
                    {a < b ? "−" : "+"}
                    {show.short(Math.abs(a - b))}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}
