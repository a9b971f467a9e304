// SPDX-License-Identifier: Apache-2.0
import type { Job, JobFinding } from "../../data/job";
import * as show from "../../model/format";
import { Sentence, Sentences } from "../elements/sentence";
import { clip } from "../findings/standing-out";
import { RankLink } from "./rank-link";

const CARDS = 3;

/** The findings, each once for all ranks that have it. */
export function JobFindings({ job }: { job: Job }) {
  const urgent = job.findings.filter((finding) => finding.to_do);
  const others = job.findings.filter((finding) => !finding.to_do);
  return (
    <section class="standing-out" aria-labelledby="standing-out">
      <h2 id="standing-out">Look here first</h2>
      <Cards job={job} findings={urgent.slice(0, CARDS)} />
      {urgent.length > CARDS && (
        <details class="more-findings">
          <summary>
            {urgent.length - CARDS} more finding{urgent.length > CARDS + 1 && "s"}
          </summary>
          <Cards job={job} findings={urgent.slice(CARDS)} />
        </details>
      )}
      {others.map((finding, i) => (
        <p class="well" key={i}>
          <span class="verdict well">{finding.kind}</span> {finding.who}:{" "}
          <Sentence text={finding.why} />
        </p>
      ))}
      {job.findings.length === 0 && <p class="prose">No rank has a finding.</p>}
    </section>
  );
}

function Cards({ job, findings }: { job: Job; findings: JobFinding[] }) {
  if (findings.length === 0) return null;
  return (
    <ol class="cards">
      {findings.map((finding, i) => (
        <Card key={i} job={job} finding={finding} />
      ))}
    </ol>
  );
}

function Card({ job, finding }: { job: Job; finding: JobFinding }) {
  const { kind, name, place, who, share, worst, worst_share, why, advice } = finding;
  return (
    <li class="card">
      <div class="card-head">
        <p class="figure-number">{show.percent(share)}</p>
        <p class="figure-label">of the accesses of all ranks could become local</p>
      </div>
      <h3>
        <bdi>{clip(name) || "The whole run"}</bdi>
      </h3>
      <p class="card-origin">
        <span class="verdict">{kind}</span>{" "}
        {place && (
          <span class="origin">
            <bdi>{place}</bdi>
          </span>
        )}
      </p>
      <dl>
        <dt>Ranks</dt>
        <dd>
          {who}.{" "}
          {worst_share > 0 && (
            <>
              Worst is <RankLink job={job} rank={worst} /> ({show.percent(worst_share)} of its
              accesses).
            </>
          )}
        </dd>
        <dt>Cause{worst_share > 0 && `, in rank ${worst}`}</dt>
        <dd>
          <Sentence text={why} />
        </dd>
        <dt>Fix</dt>
        <dd>
          <Sentences texts={advice} />
        </dd>
      </dl>
    </li>
  );
}
