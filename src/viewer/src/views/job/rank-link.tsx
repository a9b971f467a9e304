// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import type { Job } from "../../data/job";
import { usePageState } from "../page/page-state";

interface Props {
  job: Job;
  rank: number;
  children?: ComponentChildren;
}

/** Leads to the page of a rank if there is one: in this file, or from `numascape view`. */
export function RankLink({ job, rank, children = `rank ${rank}` }: Props) {
  const { theme } = usePageState("theme");
  const address = addressOfRank(job, rank, theme);
  if (address === undefined) return <span class="no-page">{children}</span>;
  return (
    <a class="rank-link" href={address}>
      {children}
    </a>
  );
}

export function addressOfRank(job: Job, rank: number, theme: string | null): string | undefined {
  const chosen = theme ? `&theme=${theme}` : "";
  if (job.about.rank_url !== undefined) return `${job.about.rank_url}${rank}/#v=1${chosen}`;
  return job.own.includes(rank) ? `#v=1&rank=${rank}${chosen}` : undefined;
}
