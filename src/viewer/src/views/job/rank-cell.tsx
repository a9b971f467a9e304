// SPDX-License-Identifier: Apache-2.0
import type { Job } from "../../data/job";
import { rankMapOf, cellText } from "../../model/rank-map";
import type { RankMap } from "../../model/rank-map";
import { useMemo } from "preact/hooks";
import { RankLink } from "./rank-link";

/** A row of the heat map, and a column in its present order. */
export interface Cell {
  row: number;
  column: number;
}

/** The values of the marked cell, and the way to the page of its rank. */
export function RankCell({ job, map, cell }: { job: Job; map: RankMap; cell: Cell }) {
  const others = useMemo(
    () => (["accesses", "relative", "remote", "threads"] as const).map(mapOf(job)),
    [job],
  );
  const position = map.columns[cell.column]!;
  const structure = job.structures[cell.row];
  if (!structure) return null;
  const { rank, place, group, status } = job.ranks;
  const { host, on } = job.places[place[position]!]!;
  const number = rank[position]!;
  const one = job.classes[group[position]!];
  const outlier = one?.reason ? "an outlier" : `class ${group[position]! + 1}`;
  const at = cell.row * rank.length + position;
  return (
    <p class="rank-cell not-saved" role="status">
      <b>
        <RankLink job={job} rank={number} />, <bdi>{structure.label.slice(0, 100)}</bdi>
      </b>
      : {others.map((other) => cellText(other.measure, other.values[at]!)).join("; ")}.{" "}
      <span class="origin">
        On <bdi>{host}</bdi>
        {on && `, nodes ${on}`}; {outlier}
        {status[position]! > 1 && `; ended with status ${status[position]! - 1}`}.
      </span>
    </p>
  );
}

/** The map with ranks in their order, so that positions are columns. */
function mapOf(job: Job) {
  return (measure: RankMap["measure"]) => rankMapOf(job, measure, "rank");
}
