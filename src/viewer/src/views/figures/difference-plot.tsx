// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { drawDifference, drawDifferenceScale } from "../../draw/difference";
import type { Theme } from "../../model/page-state";
import { columnBins } from "../../model/bins";
import { unitOf } from "../../model/counting";
import { differenceOf, groupMeans, mostDifferent, overlap } from "../../model/difference";
import type { Difference, Group } from "../../model/difference";
import * as show from "../../model/format";
import type { Matrix, ScaleEnd } from "../../model/matrix";
import { Canvas } from "../elements/canvas";
import { groupName } from "./compared";
import { linesOf } from "./figure-data";
import type { FigureData } from "./figure-data";
import type { Navigation } from "../page/navigation";
import { BrushBox, cursorHandlers } from "./page-thread-plot";
import type { Cursor } from "./page-thread-plot";
import { usePageState } from "../page/page-state";
import { Wide } from "../elements/wide";

interface Shared {
  navigation: Navigation;
  theme: Theme;
  onCursor: (cursor: Cursor | undefined) => void;
}

/** Two groups of threads, page by page, and what one has more; nothing until both are chosen. */
export function DifferencePlot({ data, ...shared }: Shared & { data: FigureData }) {
  const { groupA, groupB, measure } = usePageState("groupA", "groupB", "measure");
  const { matrix, arrangement, report } = data;
  const groups = useMemo(
    () =>
      [groupA, groupB].map((rows): NamedGroup => {
        const lines = linesOf(rows, arrangement);
        const name = lines.length > 0 ? groupName(rows, report.threads) : "";
        return { matrix, lines, threads: lines.length, name };
      }),
    [groupA, groupB, matrix, arrangement],
  );
  if (groupA.length === 0 || groupB.length === 0) return null;
  const [a, b] = groups as [NamedGroup, NamedGroup];
  const unit = unitOf(report.run, measure);
  return <DifferenceBands {...shared} a={a} b={b} unit={unit} per="per page and thread" />;
}

export interface NamedGroup extends Group {
  name: string;
}

interface BandsProps extends Shared {
  /** Both groups have the same columns. */
  a: NamedGroup;
  b: NamedGroup;
  unit: string;
  per: string;
  /** The axis below the bands, if no other figure has the axis of pages. */
  axis?: ComponentChildren;
}

/** The means of A and of B by page, and what one has more. */
export function DifferenceBands(props: BandsProps) {
  const { a, b, unit, per, navigation, theme, onCursor, axis } = props;
  const { measure, scale } = usePageState("measure", "scale");
  const { matrix } = a;
  const { view } = navigation;
  const difference = useMemo(() => differenceOf(a, b, measure), [a, b, measure]);
  const common = overlap(matrix, difference);
  const inputs = [difference, view, scale, theme];
  return (
    <>
      <h3 class="wide">
        Difference: A ({a.name}) against B ({b.name})
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
            `By page, the ${unit} of A, ${a.name}, of B, ${b.name}, and their difference. ` +
            `${show.share(common)} of their ${unit} have the same distribution over pages.`
          }
          inputs={inputs}
          draw={(surface) => {
            const x = columnBins(matrix, view, surface.width);
            const means = { a: groupMeans(a, measure, x), b: groupMeans(b, measure, x) };
            drawDifference(surface, { x, ...means, end: difference.scale.end }, scale, theme);
          }}
        />
        {navigation.brush && <BrushBox {...navigation.brush} />}
      </div>
      <span />
      {axis && [<span key="before" />, axis, <span key="after" />]}
      <div class="wide difference-notes">
        <DifferenceLegend
          largest={difference.largest}
          told={scaleText(difference.scale, difference.largest, `${unit} ${per}`)}
          theme={theme}
        />
        <p>
          {show.share(common)} of their {unit} have the same distribution over the pages. At 100
          {"\u202f"}%, A and B use the same pages equally. At 0{"\u202f"}%, they have no page in
          common, so their pages may be on different nodes.
        </p>
        <MostDifferent matrix={matrix} difference={difference} unit={`${unit} ${per}`} />
      </div>
    </>
  );
}

interface LegendProps {
  /** The largest difference. */
  largest: number;
  /** What the ends of the colours mean. */
  ends?: readonly [string, string] | undefined;
  /** What the strongest colour means. */
  told: string;
  theme: Theme;
}

/** The colours of the difference, from what is more in B to what is more in A. */
export function DifferenceLegend(props: LegendProps) {
  const { largest, ends = ["more in B", "more in A"], told, theme } = props;
  if (largest === 0) return <div class="legend">No difference</div>;
  return (
    <div class="legend">
      <span>{ends[0]}</span>
      <Canvas
        class="gradient"
        aria-hidden="true"
        inputs={[theme]}
        draw={(surface) => drawDifferenceScale(surface, theme)}
      />
      <span>{ends[1]}</span>
      <span class="told">{told}</span>
    </div>
  );
}

/** Where the scale ends, which is that of A and B, too, and how large the difference is. */
export function scaleText({ end, clipped }: ScaleEnd, largest: number, unit: string): string {
  const from = `${clipped ? "from " : ""}${show.short(end)} ${unit}`;
  const part = largest < end ? ` (${show.share(largest / end)})` : "";
  return `Full colour: ${from} · largest difference: ${show.short(largest)}${part}`;
}

const LISTED = 20;

function MostDifferent({
  matrix,
  difference,
  unit,
}: {
  matrix: Matrix;
  difference: Difference;
  unit: string;
}) {
  return (
    <details>
      <summary>The pages in which they differ most, as a table</summary>
      <Wide label="Pages in which A and B differ most">
        <table>
          <thead>
            <tr>
              <th scope="col">Pages</th>
              <th scope="col" class="number">
                A, {unit}
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
      </Wide>
    </details>
  );
}
