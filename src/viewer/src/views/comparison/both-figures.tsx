// SPDX-License-Identifier: Apache-2.0
import { useMemo, useRef } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { seesAccesses, wordsOf } from "../../model/counting";
import { jointMatrices } from "../../model/joint";
import { densityScale, matrixOf } from "../../model/matrix";
import { inside } from "../../model/viewport";
import type { Viewport } from "../../model/viewport";
import { FigureGrid } from "../figures/figure-grid";
import { useFigureData } from "../figures/figure-data";
import type { FigureData } from "../figures/figure-data";
import { useNavigation } from "../page/navigation";
import { usePageState } from "../page/page-state";
import { useDetail } from "../figures/use-detail";
import { PairDifference } from "./pair-difference";
import { PageBands } from "./page-bands";
import { commonScale, PairHead, PairToolbar, usePairKeys } from "./pair-controls";
import { RunTitle } from "./run-title";

interface Props {
  reports: [Report, Report];
  /** The position of the structure in each report. */
  positions: [number, number];
  names: [string, string];
  theme: Theme;
}

/** A structure in A, in B, and the difference: the same pages, threads and colours. */
export function BothFigures({ reports, positions, names, theme }: Props) {
  const { measure } = usePageState("measure");
  const a = useSide(reports[0], positions[0]);
  const b = useSide(reports[1], positions[1]);
  const root = useRef<HTMLDivElement>(null);
  const rows = Math.max(a.matrix.threads, b.matrix.threads);
  const width = Math.max(a.matrix.length, b.matrix.length);
  const navigation = useNavigation({ width, height: rows }, root);
  const onKeyDown = usePairKeys(navigation);
  const detail = [useVisible(a, navigation.view), useVisible(b, navigation.view)] as const;
  const ends = useMemo(
    () => [a, b].map(({ unordered }) => densityScale(unordered, measure)),
    [a.unordered, b.unordered, measure],
  );
  const joint = useMemo(
    () => jointMatrices(detail[0].matrix, detail[1].matrix),
    [detail[0].matrix, detail[1].matrix],
  );
  const units = reports.map(({ run }) => wordsOf(run).all);
  const alike = units[0] === units[1];
  const scale = alike ? commonScale(ends) : undefined;
  const shared = { reports, joint, navigation, theme };
  return (
    <div
      class="figures"
      ref={root}
      tabIndex={0}
      role="group"
      aria-label="Figures of both runs by page and thread. Plus and minus zoom, arrows move, 0 shows everything."
      onKeyDown={onKeyDown}
    >
      <PairToolbar reports={reports} navigation={navigation} />
      <div data-figure="pair">
        <PairHead
          title={a.structure.name}
          scale={scale}
          run={reports[0].run}
          sides={[
            { letter: "A", data: a },
            { letter: "B", data: b },
          ]}
          theme={theme}
        />
        <div class={alike ? "pair" : "pair without-difference"}>
          {detail.map((data, i) => (
            <div key={i}>
              <RunTitle letter={i === 0 ? "A" : "B"} name={names[i]!} />
              <FigureGrid
                {...{ data, navigation, theme }}
                largest={scale?.end ?? ends[i]!.end}
                rowsBeside={rows}
              />
            </div>
          ))}
          {scale && <PairDifference {...shared} scale={scale} />}
        </div>
        {alike && seesAccesses(reports[0].run) && <PageBands {...shared} names={names} />}
      </div>
      <Notes alike={alike} units={units} sides={[a, b]} detail={detail} />
    </div>
  );
}

function useSide(report: Report, position: number): FigureData {
  return useFigureData(report, position, matrixOf(report, position));
}

/** The data for the view, with single pages if the page is served. */
function useVisible(data: FigureData, view: Viewport): FigureData {
  const { length, threads } = data.matrix;
  return useDetail(data, inside(view, { width: length, height: threads })).data;
}

interface NotesProps {
  alike: boolean;
  units: string[];
  sides: readonly FigureData[];
  detail: readonly FigureData[];
}

function Notes({ alike, units, sides, detail }: NotesProps) {
  const [a, b] = sides as [FigureData, FigureData];
  const coarse = sides.map(({ structure, matrix }, i) =>
    detail[i]!.matrix === matrix ? structure.pages_per_column : 1,
  );
  const widest = Math.max(...coarse);
  return (
    <p class="hint">
      Drag to zoom into a part, double-click to show everything.
      {!alike && ` A shows ${units[0]}, B shows ${units[1]}: their difference has no meaning.`}
      {a.threads.length !== b.threads.length &&
        ` A has ${a.threads.length} threads, B has ${b.threads.length}: rows are compared by thread number.`}
      {a.matrix.length !== b.matrix.length &&
        ` A has ${a.matrix.length} pages, B has ${b.matrix.length}: pages are compared by their number in the structure.`}
      {widest > 1 && ` A column sums up to ${widest} pages.`}
    </p>
  );
}
