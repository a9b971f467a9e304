// SPDX-License-Identifier: Apache-2.0
import type { Job } from "../../data/job";
import * as show from "../../model/format";
import { TableSection } from "../page/table-section";
import { RankLink } from "./rank-link";

/** Memory that several ranks of a host use. */
export function SharedTable({ job }: { job: Job }) {
  return (
    <TableSection
      id="shared"
      title="Memory that ranks share"
      csv={() => sharedTable(job)}
      savedAs="Shared memory"
      table={
        <table class="job-table">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Host</th>
              {["Used", "Ranks", "Accesses"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              <th scope="col">Touched first by</th>
              <th scope="col" class="number">
                By others
              </th>
            </tr>
          </thead>
          <tbody>
            {job.shared.map((one, i) => (
              <tr key={i}>
                <th scope="row">
                  <bdi class="name">{one.name.slice(0, 200)}</bdi>
                </th>
                <td>
                  <bdi>{one.host}</bdi>
                </td>
                <td class="number">{one.size}</td>
                <td class="number">{show.count(one.ranks)}</td>
                <td class="number">{show.short(one.accesses)}</td>
                <td>
                  <RankLink job={job} rank={one.first_rank} /> ({show.percent(one.first_share)})
                </td>
                <td class="number">{show.share(one.foreign_share)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      }
    >
      <p class="how">By others: accesses to pages that another rank touched first.</p>
    </TableSection>
  );
}

function sharedTable({ shared }: Job) {
  return {
    columns: ["name", "host", "ranks", "accesses", "first_rank", "first_share", "foreign_share"],
    rows: shared.map((one) => [
      ...[one.name, one.host, one.ranks, one.accesses],
      ...[one.first_rank, one.first_share, one.foreign_share],
    ]),
  };
}
