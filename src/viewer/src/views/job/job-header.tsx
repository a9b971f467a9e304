// SPDX-License-Identifier: Apache-2.0
import type { Job } from "../../data/job";
import * as show from "../../model/format";
import { Brand, day, Fact } from "../overview/run-header";

export function JobHeader({ job: { about } }: { job: Job }) {
  return (
    <header class="run">
      <Brand />
      <h1>
        <bdi>{about.name}</bdi>
      </h1>
      <p class="command">
        <bdi>{about.program}</bdi>
        {about.launcher && `, started by ${about.launcher}`}
      </p>
      <p class="conclusion">{about.conclusion}</p>
    </header>
  );
}

export function JobFacts({ job: { about } }: { job: Job }) {
  const touches = about.counts.join() === "first touches";
  // The facts below say the same as the first three sentences.
  const notes = about.sentences.slice(3);
  return (
    <section aria-label="The job">
      <dl class="facts">
        <Fact name="Recorded">{day(about.started)}</Fact>
        <Fact name="Ranks">
          {show.count(about.ranks)}
          {about.size !== null && about.size !== about.ranks && ` of ${show.count(about.size)}`}
        </Fact>
        <Fact name="Hosts">{show.count(about.hosts)}</Fact>
        <Fact name="Threads">{show.count(about.threads)}</Fact>
        <Fact name="Longest run time">
          {about.wall_s === null ? "unknown" : show.seconds(about.wall_s)}
        </Fact>
        <Fact name={about.counts.includes("samples") ? "Samples of accesses" : "Accesses"}>
          {touches
            ? "first touches only"
            : `${show.short(about.reads)} reads, ${show.short(about.writes)} writes`}
          {about.estimate_error > 0 && `, ± ${show.share(about.estimate_error)}`}
        </Fact>
        <Fact name="Pages touched">{show.count(about.pages)}</Fact>
      </dl>
      {notes.length > 0 && (
        <ul class="job-notes">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
