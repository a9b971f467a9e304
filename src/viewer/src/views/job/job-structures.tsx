// SPDX-License-Identifier: Apache-2.0
import type { Job, JobStructure } from "../../data/job";
import * as show from "../../model/format";
import { TableSection } from "../page/table-section";
import { RankLink } from "./rank-link";

/** The structures of all ranks; those that are the same in several ranks are one row. */
export function JobStructures({ whole, job }: { whole: Job; job: Job }) {
  return (
    <TableSection
      id="job-structures"
      title="Structures of all ranks"
      csv={() => structuresTable(whole)}
      table={
        <table class="job-table">
          <thead>
            <tr>
              <th scope="col">Name</th>
              {["Ranks", "Size", "Reads", "Writes", "Share", "Remote", "Imbalance"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              <th scope="col">Busiest</th>
            </tr>
          </thead>
          <tbody>
            {job.structures.map((one) => (
              <tr key={`${one.label}/${one.kind}`}>
                <th scope="row">
                  <bdi class="name">{one.label.slice(0, 200)}</bdi>{" "}
                  <span class="origin">{one.kind}</span>
                </th>
                <td class="number">{show.count(one.ranks)}</td>
                <td class="number">{show.bytes(one.size)}</td>
                <td class="number">{show.short(one.reads)}</td>
                <td class="number">{show.short(one.writes)}</td>
                <td class="number">{show.share(one.share)}</td>
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
        Size: that of the largest. Imbalance: the accesses of the busiest rank, divided by the mean
        of the ranks that use the structure.
      </p>
    </TableSection>
  );
}

/** The remote share of the accesses that are known to be local or remote. */
export function remoteText({ known, remote }: Pick<JobStructure, "known" | "remote">): string {
  return known > 0 ? show.share(Math.min(1, remote / known)) : "unknown";
}

function structuresTable({ structures }: Job) {
  const columns = ["label", "kind", "ranks", "size", "reads", "writes", "known", "remote"] as const;
  return {
    columns: [...columns, "share", "imbalance", "busiest"],
    rows: structures.map((one) => [
      ...columns.map((column) => one[column]),
      ...[one.share, one.imbalance, one.busiest],
    ]),
  };
}
