// SPDX-License-Identifier: Apache-2.0
import type { ComparedRun, Comparison } from "../../data/comparison";
import * as show from "../../model/format";
import { Brand, day } from "../overview/run-header";
import { Wide } from "../elements/wide";

/** The verdict first; then what was compared. */
export function ComparisonHeader({ comparison }: { comparison: Comparison }) {
  const { runs, conclusion, cautions } = comparison;
  return (
    <header class="run">
      <Brand />
      <h1>
        <bdi>{runs[1].program}</bdi>: two runs
      </h1>
      <p class="conclusion">{conclusion}</p>
      {cautions.length > 0 && (
        <ul class="cautions prose" aria-label="What differs between the runs">
          {cautions.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <div class="runs">
        <Run letter="A" run={runs[0]} />
        <Run letter="B" run={runs[1]} />
      </div>
    </header>
  );
}

function Run({ letter, run }: { letter: "A" | "B"; run: ComparedRun }) {
  return (
    <section aria-label={`Run ${letter}`}>
      <h2>
        <b class={`group-letter ${letter.toLowerCase()}`}>{letter}</b> <bdi>{run.file}</bdi>
      </h2>
      <p class="command">
        <bdi>{run.command}</bdi>
      </p>
      <p class="origin">
        {show.count(run.threads)} {run.threads === 1 ? "thread" : "threads"} ·{" "}
        <bdi>{run.machine}</bdi> · {day(run.started)} · counts {run.counts}
      </p>
      <p>{run.verdict}</p>
      <p>
        <a class="rank-link" href={run.address}>
          Open the report of {letter}
        </a>
      </p>
    </section>
  );
}

const TONES: Record<string, string> = { "1": "better", "-1": "worse", "0": "" };

/** The numbers of the runs as a whole. */
export function RunMeasures({ comparison: { measures } }: { comparison: Comparison }) {
  return (
    <section aria-labelledby="measures">
      <h2 id="measures">The runs</h2>
      <Wide label="Measures of the runs">
        <table class="measures" aria-labelledby="measures">
          <thead>
            <tr>
              <th scope="col">Measure</th>
              <th scope="col" class="number">
                A
              </th>
              <th scope="col" class="number">
                B
              </th>
              <th scope="col" class="number">
                Change
              </th>
            </tr>
          </thead>
          <tbody>
            {measures.map(({ name, before, after, change, tone }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="number">{before}</td>
                <td class="number">{after}</td>
                <td class={`number change ${TONES[tone]}`}>{change}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="how">
        Foreign: accesses to pages that another thread touched first. Remote: accesses to pages on
        another node than the thread.
      </p>
    </section>
  );
}
