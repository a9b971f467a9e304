// SPDX-License-Identifier: Apache-2.0
import type { Job } from "../../data/job";
import * as show from "../../model/format";
import { TableSection } from "../page/table-section";
import { remoteText } from "./job-structures";
import { RankLink } from "./rank-link";

/** Shows what the ranks of each host and node do. */
export function PlaceTable({ job }: { job: Job }) {
  const all = Math.max(
    1,
    job.places.reduce((sum, { accesses }) => sum + accesses, 0),
  );
  return (
    <TableSection
      id="places"
      title="Hosts and nodes"
      csv={() => placesTable(job)}
      table={
        <table class="job-table">
          <thead>
            <tr>
              <th scope="col">Host</th>
              <th scope="col">Nodes</th>
              {["Ranks", "Threads", "Pages", "Share", "Remote", "Imbalance"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              <th scope="col">Busiest</th>
            </tr>
          </thead>
          <tbody>
            {job.places.map((one, i) => (
              <tr key={i}>
                <th scope="row">
                  <bdi>{one.host}</bdi>
                </th>
                <td>{one.on || "unknown"}</td>
                <td class="number">{show.count(one.ranks)}</td>
                <td class="number">{show.count(one.threads)}</td>
                <td class="number">{show.count(one.pages)}</td>
                <td class="number">{show.share(one.accesses / all)}</td>
                <td class="number">{remoteText(one)}</td>
                <td class="number">{one.imbalance.toFixed(2)}</td>
                <td>
                  <RankLink job={job} rank={one.busiest} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      }
    >
      <p class="how">
        Nodes: those on whose CPUs the ranks may run. Share: of the accesses of all ranks.
        Imbalance: the accesses of the busiest rank, divided by the mean of these ranks.
      </p>
    </TableSection>
  );
}

function placesTable({ places }: Job) {
  const columns = ["host", "on", "ranks", "threads", "pages", "accesses", "known"] as const;
  return {
    columns: [...columns, "remote", "imbalance", "busiest"],
    rows: places.map((one) => [
      ...columns.map((column) => one[column]),
      ...[one.remote, one.imbalance, one.busiest],
    ]),
  };
}
