// SPDX-License-Identifier: Apache-2.0
// The controls of the figures of two runs: what the colours show, zooming, keys, saving.

import type { Report, Run } from "../../data/report";
import type { Theme } from "../../model/page-state";
import { seesAccesses } from "../../model/counting";
import type { Measure, ScaleEnd } from "../../model/matrix";
import { Legend } from "../elements/legend";
import type { FigureData } from "../figures/figure-data";
import { cellTable } from "../figures/figure-tables";
import { AccessChoices, ZoomButtons } from "../figures/figure-toolbar";
import type { Navigation } from "../page/navigation";
import { useChangePage, usePageState } from "../page/page-state";
import { SaveMenu } from "../page/save-menu";
import type { CsvTable } from "../../model/csv";

interface ToolbarProps {
  reports: readonly Report[];
  navigation: Navigation;
}

export function PairToolbar({ reports, navigation }: ToolbarProps) {
  const seen = reports.find(({ run }) => seesAccesses(run));
  return (
    <div class="toolbar not-saved">
      {seen && <AccessChoices report={seen} />}
      <ZoomButtons navigation={navigation} />
    </div>
  );
}

export interface PairSide {
  letter: "A" | "B";
  data: FigureData;
}

interface HeadProps {
  title: string;
  /** The scale of the accesses; absent: the runs have no common scale. */
  scale: ScaleEnd | undefined;
  run: Run;
  sides: readonly PairSide[];
  theme: Theme;
}

/** The colour scale, and the menu that saves the figures. */
export function PairHead({ title, scale, run, sides, theme }: HeadProps) {
  const state = usePageState("measure", "scale");
  const runs = sides.length > 1 ? "Both runs" : `Run ${sides[0]!.letter}`;
  return (
    <div class="figure-head">
      {scale && seesAccesses(run) && (
        <Legend
          largest={scale.end}
          clipped={scale.clipped}
          measure={state.measure}
          scale={state.scale}
          theme={theme}
          run={run}
        />
      )}
      <SaveMenu title={`${runs}: ${title}`} table={() => pairTable(sides)} />
    </div>
  );
}

/** The cells of both runs, with the run as the first column. */
function pairTable(sides: readonly PairSide[]): CsvTable {
  const tables = sides.map(({ letter, data }) => ({ letter, ...cellTable(data) }));
  return {
    columns: ["run", ...tables[0]!.columns],
    rows: tables.flatMap(({ letter, rows }) => rows.map((cells) => [letter, ...cells])),
  };
}

const MEASURES: readonly Measure[] = ["both", "reads", "writes"];

/** The keys of the figures, as far as two runs have what they change. */
export function usePairKeys(navigation: Navigation): (event: KeyboardEvent) => void {
  const change = useChangePage();
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "m") {
      change(({ measure }) => ({ measure: MEASURES[(MEASURES.indexOf(measure) + 1) % 3]! }));
    } else if (event.key === "l") {
      change(({ scale }) => ({ scale: scale === "log" ? "linear" : "log" }));
    } else {
      navigation.onKeyDown(event);
      return;
    }
    event.preventDefault();
  };
}

/** One scale for both runs, which ends at the larger of their ends. */
export function commonScale(ends: readonly ScaleEnd[]): ScaleEnd {
  const largest = Math.max(...ends.map(({ end }) => end));
  return {
    end: largest,
    clipped: ends.some(({ end, clipped }) => clipped && end === largest),
  };
}
