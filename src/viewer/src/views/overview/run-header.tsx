// SPDX-License-Identifier: Apache-2.0
import { Fragment } from "preact";
import type { ComponentChildren } from "preact";
import type { Report, Run } from "../../data/report";
import { counting, knowsThreads, shareError } from "../../model/counting";
import type { Counting } from "../../model/counting";
import * as show from "../../model/format";
import { reportInLines } from "../../model/memory-lines";
import { Sentence } from "../elements/sentence";
import { Term } from "../elements/term";
import { ThemeChoice } from "../page/theme";

export function RunHeader({ run }: { run: Run }) {
  return (
    <header class="run">
      <Brand />
      {run.job && (
        <p class="back">
          <a class="rank-link" href={run.job.url}>
            ← <bdi>{run.job.name}</bdi>
          </a>{" "}
          rank {run.job.rank}
        </p>
      )}
      {run.compared && (
        <p class="back">
          <a class="rank-link" href={run.compared.url}>
            ← both runs
          </a>{" "}
          {run.compared.side.toUpperCase()}: <bdi>{run.compared.name}</bdi>
        </p>
      )}
      <h1>{show.fileName(run.program) || "program"}</h1>
      <p class="command">
        {[run.program, ...(run.arguments ?? [])].map((word, i) => (
          <Fragment key={i}>
            <bdi>{word}</bdi>{" "}
          </Fragment>
        ))}
      </p>
    </header>
  );
}

export function Brand() {
  return (
    <div class="brand">
      <span class="wordmark">
        <Mark /> Numascape
      </span>
      <ThemeChoice />
    </div>
  );
}

const MEANING: Record<Counting, string> = {
  accesses: "",
  "memory lines": "",
  "first touches":
    "This recording has page faults only. It shows which thread touched each page first, and the node of the page. It has no later accesses, so this report has no access distributions, sharing or traffic.",
  samples:
    "This recording has samples: a small part of all accesses, each with its page and thread. Shares are estimates. Fewer samples mean a larger error. A page without a sample may have been used.",
};

const MEANING_OF_FAULTS =
  "This recording has page faults, each as one read: the first access to a page, or a later one for which the kernel must act. They do not show how much a page is used.";

function meaning(run: Run) {
  const isOfFaults = counting(run) === "samples" && run.recorder.options?.event === "page-faults";
  const { sample } = run.recorder.options ?? {};
  const share = run.recorder.counted_work?.share ?? sample;
  if (typeof share === "number" && share && run.estimate_error) {
    return `Only ${show.share(share)} of the work was counted, in short bursts. All numbers of accesses are estimates. The total is right within ${show.share(run.estimate_error)} (with 95 % confidence); the numbers of single pages have larger errors. A page without accesses may have been used.`;
  }
  return isOfFaults ? MEANING_OF_FAULTS : MEANING[counting(run)];
}

/** Shows what was recorded, where, and what the recorder could not see. */
export function RunFacts({ report }: { report: Report }) {
  const { run, threads } = report;
  const notes = [...run.names.advice, ...run.unseen];
  if (run.exit_status) notes.unshift(`The program ended with exit status ${run.exit_status}.`);
  return (
    <section aria-label="The run">
      <dl class="facts">
        <Fact name="Recorded">{day(run.started)}</Fact>
        <Fact name="Machine">{machine(run)}</Fact>
        {knowsThreads(run) && (
          <Fact name={<Term of="thread">Threads</Term>}>{show.count(threads.length)}</Fact>
        )}
        <Fact name="Run time">{times(run)}</Fact>
        <Fact name={<Term of="overhead">Recorder's cost</Term>}>{overhead(run)}</Fact>
        <Counted run={run} />
        <MemoryLines report={report} />
        <Fact name={<Term of="page">Pages touched</Term>}>
          {show.count(run.touched_pages)} ({show.bytes(run.touched_pages * run.page_size)})
        </Fact>
        <Fact name={<Term of="named">Named in the source</Term>}>{names(run)}</Fact>
      </dl>
      {meaning(run) && knowsThreads(run) && <p class="prose counting">{meaning(run)}</p>}
      {run.not_judged && (
        <p class="prose not-judged">
          <Sentence text={run.not_judged} />
        </p>
      )}
      {notes.length > 0 && (
        <details class="unseen">
          <summary>Recording limitations ({notes.length})</summary>
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

export function Fact({ name, children }: { name: ComponentChildren; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
      <path d="M1 15V9h3v6zm3.7 0V5h3v10zm3.7 0V1h3v14zm3.6 0V7h3v8z" fill="currentColor" />
    </svg>
  );
}

/** Shares of all accesses, by what the names of the structures refer to. */
function names({ names: { source, runtime, nothing } }: Run) {
  const others: [number, string][] = [
    [runtime, "stacks, runtimes and code"],
    [nothing, "memory without a name"],
  ];
  const said = others.filter(([share]) => share > 0);
  return [show.share(source), ...said.map(([share, of]) => `${of} ${show.share(share)}`)].join(
    "; ",
  );
}

/** The counts, and what was counted. */
function Counted({ run }: { run: Run }) {
  const kind = counting(run);
  const samples = run.reads + run.writes;
  if (kind === "first touches") return <Fact name="Recorded">first touches only</Fact>;
  if (kind === "samples") {
    return (
      <Fact name="Samples">
        {show.count(samples)} accesses; shares are estimates, ± {show.share(shareError(run))}
      </Fact>
    );
  }
  return (
    <Fact name={<Term of="access">Accesses</Term>}>
      {show.short(run.reads)} reads, {show.short(run.writes)} writes
      {run.estimate_error ? `, ± ${show.share(run.estimate_error)}` : ""}
    </Fact>
  );
}

/** The lines that modelled caches fetched from memory and wrote back, if there were such caches. */
function MemoryLines({ report }: { report: Report }) {
  if (!report.memory_lines) return null;
  const { reads, writes, recorder } = reportInLines(report).run;
  const size = recorder.options?.cache?.line_bytes;
  return (
    <Fact name={<Term of="memory line">Memory lines</Term>}>
      {show.short(reads)} from memory, {show.short(writes)} to memory
      {size !== undefined && ` (${show.bytes((reads + writes) * size)})`}
    </Fact>
  );
}

export function day(started: string): string {
  const date = new Date(started);
  if (Number.isNaN(date.getTime())) return started || "unknown";
  return date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

function machine({ host = {} }: Run): string {
  const parts = [host.name || "unknown"];
  if (host.nodes) parts.push(host.nodes === 1 ? "1 memory node" : `${host.nodes} memory nodes`);
  if (host.cpus) parts.push(`${host.cpus} CPUs`);
  if (host.memory_bytes) parts.push(show.bytes(host.memory_bytes));
  return parts.join(", ");
}

function times({ times: { wall_s, cpu_s } = {} }: Run): string {
  if (wall_s == null) return "unknown";
  return show.seconds(wall_s) + (cpu_s == null ? "" : ` (${show.seconds(cpu_s)} of CPU time)`);
}

function overhead({ times = {}, recorder }: Run): string {
  const { cpu_s, native_cpu_s, estimated_native_cpu_s } = times;
  if (cpu_s != null && native_cpu_s) {
    return `${(cpu_s / native_cpu_s).toFixed(1)} × the program's CPU time`;
  }
  if (cpu_s == null || !estimated_native_cpu_s) return "not measured";
  const asked = recorder.options?.cost;
  const estimate = `about ${(cpu_s / estimated_native_cpu_s).toFixed(2)} × the program's CPU time`;
  return asked ? `${estimate} (asked: ${asked})` : estimate;
}
