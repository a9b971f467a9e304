// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import type { Job } from "../../data/job";
import type { Scale, Theme } from "../../model/page-state";
import { drawRankMap } from "../../draw/rank-map";
import * as show from "../../model/format";
import {
  classBoundaries,
  largestIn,
  measuresOf,
  namesOf,
  rankMapOf,
  rankMapTable,
  cellText,
} from "../../model/rank-map";
import type { RankMap } from "../../model/rank-map";
import { Canvas } from "../elements/canvas";
import { Segmented } from "../elements/segmented";
import { useChangePage, usePageState } from "../page/page-state";
import { SaveMenu } from "../page/save-menu";
import { MinorStructures } from "./minor-structures";
import { RankCell } from "./rank-cell";
import type { Cell } from "./rank-cell";
import { RankLegend } from "./rank-legend";

const ROW_PX = 24;
/** More would hide the cells. */
const BOUNDARIES = 40;
const ORDERS = [
  ["rank", "rank"],
  ["class", "class"],
] as const;
const SCALES = [
  ["linear", "linear"],
  ["log", "logarithmic"],
] as const;

interface Props {
  /** The whole job, and the part of it that the map shows. */
  whole: Job;
  job: Job;
  theme: Theme;
}

/** The heat map of ranks and structures. */
export function RankMapPanel({ whole, job, theme }: Props) {
  const { cells, columns, scale } = usePageState("cells", "columns", "scale");
  const change = useChangePage();
  const measures = useMemo(() => measuresOf(job), [job]);
  const measure = measures.some(([one]) => one === cells) ? cells : "accesses";
  const map = useMemo(() => rankMapOf(job, measure, columns), [job, measure, columns]);
  const [cell, setCell] = useState<Cell>({ row: 0, column: 0 });
  return (
    <section class="panel rank-map" aria-labelledby="rank-map" data-figure>
      <div class="heading">
        <h2 id="rank-map">Ranks and structures</h2>
        <SaveMenu title="Ranks and structures" table={() => rankMapTable(whole)} />
      </div>
      <div class="toolbar not-saved">
        <Segmented
          label="Colour"
          options={measures}
          value={measure}
          onChange={(chosen) => change({ cells: chosen })}
        />
        <Segmented
          label="Order"
          options={ORDERS}
          value={columns}
          onChange={(chosen) => change({ columns: chosen })}
        />
        {measure !== "remote" && (
          <Segmented
            label="Scale"
            options={SCALES}
            value={scale}
            onChange={(chosen: Scale) => change({ scale: chosen })}
          />
        )}
      </div>
      <RankLegend map={map} scale={scaleOf(map, scale)} theme={theme} />
      <Grid {...{ job, map, theme, cell, setCell }} scale={scaleOf(map, scale)} />
      <RankCell job={job} map={map} cell={cell} />
      <MinorStructures job={whole} />
      <p class="how not-saved">
        A row is a structure, a column is a rank. Blank: the rank does not use the structure, or the
        value is unknown. If there are more ranks than pixels, a pixel shows the largest value of
        its ranks. Arrow keys move the marked cell; Enter opens the page of its rank.
      </p>
    </section>
  );
}

function scaleOf({ measure }: RankMap, scale: Scale): Scale {
  return measure === "remote" ? "linear" : scale;
}

interface GridProps {
  job: Job;
  map: RankMap;
  scale: Scale;
  theme: Theme;
  cell: Cell;
  setCell: (cell: Cell) => void;
}

function Grid({ job, map, scale, theme, cell, setCell }: GridProps) {
  const ranks = map.columns.length;
  const boundaries = useMemo(() => classBoundaries(job, map), [job, map]);
  const name = (column: number) => job.ranks.rank[map.columns[column]!]!;
  return (
    <div class="rank-grid" style={{ "--rows": map.rows, "--row": `${ROW_PX}px` }}>
      <div class="rank-names">
        {namesOf(job).map((name, row) => (
          <span key={row} title={name}>
            <bdi>{name}</bdi>
          </span>
        ))}
      </div>
      <div
        class="rank-plot"
        tabIndex={0}
        role="group"
        aria-label={`Heat map of ${show.count(map.rows)} structures and ${show.count(ranks)} ranks`}
        onKeyDown={(event) => move(event, map, cell, setCell)}
        onPointerMove={(event) => setCell(cellAt(event, map))}
        onPointerDown={(event) => setCell(cellAt(event, map))}
      >
        <Canvas
          class="rank-cells"
          role="img"
          aria-label={`Largest: ${cellText(map.measure, map.largest)}. The numbers can be saved.`}
          inputs={[map, scale, theme]}
          draw={(surface) => drawRankMap(surface, map, scale, theme)}
        />
        {boundaries.length <= BOUNDARIES &&
          boundaries.map((at) => (
            <i key={at} class="boundary" style={{ left: `${(100 * at) / ranks}%` }} />
          ))}
        <i
          class="marked not-saved"
          style={{
            left: `${(100 * cell.column) / ranks}%`,
            width: `max(3px, ${100 / ranks}%)`,
            top: cell.row * ROW_PX,
            height: ROW_PX - 1,
          }}
        />
      </div>
      <div class="rank-axis" aria-hidden="true">
        <span>rank {name(0)}</span>
        {ranks > 1 && <span>rank {name(ranks - 1)}</span>}
      </div>
    </div>
  );
}

/** The cell under the pointer. Of several ranks in one pixel, the one with the largest value. */
function cellAt(event: PointerEvent, map: RankMap): Cell {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const ranks = map.columns.length;
  const within = (part: number, size: number) =>
    Math.max(0, Math.min(size - 1, Math.floor(part * size)));
  const row = within((event.clientY - box.top) / box.height, map.rows);
  const from = within((event.clientX - box.left) / box.width, ranks);
  const to = within((event.clientX + 1 - box.left) / box.width, ranks);
  return { row, column: largestIn(map, row, from, Math.max(from + 1, to)) };
}

function move(
  event: KeyboardEvent,
  map: RankMap,
  { row, column }: Cell,
  setCell: (cell: Cell) => void,
): void {
  const last = map.columns.length - 1;
  const page = Math.max(1, Math.round(last / 20));
  const moved: Record<string, Cell> = {
    ArrowLeft: { row, column: column - 1 },
    ArrowRight: { row, column: column + 1 },
    ArrowUp: { row: row - 1, column },
    ArrowDown: { row: row + 1, column },
    PageUp: { row, column: column - page },
    PageDown: { row, column: column + page },
    Home: { row, column: 0 },
    End: { row, column: last },
  };
  if (event.key === "Enter") {
    document.querySelector<HTMLElement>(".rank-cell .rank-link")?.click();
    return;
  }
  const to = moved[event.key];
  if (!to) return;
  event.preventDefault();
  const clamp = (value: number, most: number) => Math.max(0, Math.min(most, value));
  setCell({ row: clamp(to.row, map.rows - 1), column: clamp(to.column, last) });
}
