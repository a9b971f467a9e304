// SPDX-License-Identifier: Apache-2.0
import type { Job, RankClass } from "../../data/job";
import * as show from "../../model/format";
import { TableSection } from "../page/table-section";
import { RankLink } from "./rank-link";

const OUTLIERS = 20;
const RANGES = 6;

/** Ranks that do the same, and those that do something else. */
export function ClassTable({ job }: { job: Job }) {
  const usual = job.classes.filter(({ reason }) => !reason);
  const outliers = job.classes.filter(({ reason }) => reason);
  return (
    <TableSection
      id="classes"
      title="Classes of ranks"
      csv={() => classesTable(job)}
      table={
        <table class="job-table">
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col" class="number">
                Number
              </th>
              <th scope="col">Ranks</th>
              <th scope="col">Representative</th>
              <th scope="col">It uses most</th>
            </tr>
          </thead>
          <tbody>
            {usual.map((one, i) => (
              <tr key={i}>
                <th scope="row">{i + 1}</th>
                <td class="number">{show.count(one.count)}</td>
                <td class="wide">{rangesText(one.ranks)}</td>
                <td>
                  <RankLink job={job} rank={one.representative} />
                </td>
                <td class="wide">
                  <bdi>{one.main.join(", ")}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      }
    >
      {outliers.length > 0 && <Outliers job={job} outliers={outliers} />}
      <p class="how">
        Ranks of a class do the same to each structure. A class with at most a third of the ranks of
        the largest one consists of outliers. {pagesText(job)}
      </p>
    </TableSection>
  );
}

function Outliers({ job, outliers }: { job: Job; outliers: RankClass[] }) {
  const list = (some: RankClass[]) => (
    <ul class="outliers">
      {some.map((one, i) => (
        <Outlier key={i} job={job} one={one} />
      ))}
    </ul>
  );
  return (
    <>
      <h3 class="outliers">Outliers</h3>
      {list(outliers.slice(0, OUTLIERS))}
      {outliers.length > OUTLIERS && (
        <details class="more-findings">
          <summary>{outliers.length - OUTLIERS} more kinds of outliers</summary>
          {list(outliers.slice(OUTLIERS))}
        </details>
      )}
    </>
  );
}

function Outlier({ job, one }: { job: Job; one: RankClass }) {
  const single = one.count === 1;
  return (
    <li>
      {single ? (
        <RankLink job={job} rank={one.representative} />
      ) : (
        <>
          ranks {rangesText(one.ranks)}, such as <RankLink job={job} rank={one.representative} />
        </>
      )}
      : {one.reason}
    </li>
  );
}

function rangesText(ranks: string): string {
  const parts = ranks.split(",");
  const shown = parts.slice(0, RANGES).join(", ").replaceAll("-", "–");
  return parts.length > RANGES ? `${shown}, …` : shown;
}

function pagesText({ about, own }: Job): string {
  if (about.rank_url !== undefined) return "Each rank has a page of its own.";
  if (own.length === 0) return `The page of a rank: numascape report ${about.name}/rank=0`;
  return `This file has the pages of ${show.count(own.length)} of ${show.count(about.ranks)} ranks. For the others: numascape view ${about.name}`;
}

function classesTable({ classes }: Job) {
  return {
    columns: ["class", "number", "ranks", "representative", "reason", "main_structures"],
    rows: classes.map((one, i) => [
      ...[i + 1, one.count, one.ranks, one.representative, one.reason, one.main.join(", ")],
    ]),
  };
}
