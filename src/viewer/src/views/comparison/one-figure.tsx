// SPDX-License-Identifier: Apache-2.0
import { useMemo, useRef } from "preact/hooks";
import type { Report } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { densityScale, matrixOf } from "../../model/matrix";
import { FigureGrid } from "../figures/figure-grid";
import { useFigureData } from "../figures/figure-data";
import { useNavigation } from "../page/navigation";
import { usePageState } from "../page/page-state";
import { useDetail } from "../figures/use-detail";
import { PairHead, PairToolbar, usePairKeys } from "./pair-controls";
import { RunTitle } from "./run-title";

interface Props {
  letter: "A" | "B";
  name: string;
  report: Report;
  position: number;
  theme: Theme;
}

/** A structure that only one of the runs has. */
export function OneFigure({ letter, name, report, position, theme }: Props) {
  const { measure } = usePageState("measure");
  const matrix = matrixOf(report, position);
  const data = useFigureData(report, position, matrix);
  const root = useRef<HTMLDivElement>(null);
  const navigation = useNavigation({ width: matrix.length, height: matrix.threads }, root);
  const detail = useDetail(data, navigation.view);
  const onKeyDown = usePairKeys(navigation);
  const scale = useMemo(() => densityScale(data.unordered, measure), [data, measure]);
  return (
    <div
      class="figures"
      ref={root}
      tabIndex={0}
      role="group"
      aria-label="Figure by page and thread. Plus and minus zoom, arrows move, 0 shows everything."
      onKeyDown={onKeyDown}
    >
      <PairToolbar reports={[report]} navigation={navigation} />
      <div data-figure="pair">
        <PairHead
          title={data.structure.name}
          scale={scale}
          run={report.run}
          sides={[{ letter, data }]}
          theme={theme}
        />
        <RunTitle letter={letter} name={name} />
        <FigureGrid
          data={detail.data}
          navigation={navigation}
          largest={scale.end}
          theme={theme}
          rowsBeside={matrix.threads}
        />
      </div>
    </div>
  );
}
