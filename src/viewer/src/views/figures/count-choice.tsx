// SPDX-License-Identifier: Apache-2.0
import type { Report, Run } from "../../data/report";
import * as show from "../../model/format";
import type { Count } from "../../model/page-state";
import { useChangePage, usePageState } from "../page/page-state";
import { Segmented } from "../elements/segmented";
import { Term } from "../elements/term";

const COUNTS: readonly (readonly [Count, string])[] = [
  ["lines", "memory lines"],
  ["accesses", "accesses"],
];

/** Memory lines or accesses, for the whole page; nothing where only accesses were counted. */
export function CountSwitch({ report }: { report: Report }) {
  const { count } = usePageState("count");
  const change = useChangePage();
  if (!report.memory_lines) return null;
  return (
    <Segmented
      label="Count"
      options={COUNTS}
      value={count}
      onChange={(value) => change({ count: value })}
    />
  );
}

/** The switch, with its meaning and the reason for its initial state. */
export function CountChoice({ report }: { report: Report }) {
  const { count } = usePageState("count");
  if (!report.memory_lines) return null;
  return (
    <section class="count-choice" aria-label="What is counted">
      <CountSwitch report={report} />
      <p class="prose">
        {count === "lines" ? (
          <>
            The page counts <Term of="memory line">memory lines</Term>: what {modelled(report.run)}{" "}
            take from memory and give back to it. They are shown first, as only they depend on the
            node of a page; an access that finds its line in a cache does not.
          </>
        ) : (
          <>
            The page counts <Term of="access">accesses</Term>. Caches answer most of them, wherever
            the page is; <Term of="memory line">memory lines</Term> are what {modelled(report.run)}{" "}
            take from memory and give back to it.
          </>
        )}{" "}
        Findings, source lines, and who reads and who writes, name accesses in either case; gains
        are predicted from memory lines.
      </p>
    </section>
  );
}

/** Of each thread, as long as no other thread's cache is heard of. */
function modelled({ recorder }: Run): string {
  const cache = recorder.options?.cache;
  if (!cache) return "the threads' modelled caches";
  const { bytes, ways, line_bytes: line } = cache;
  return `the threads' modelled caches (${show.bytes(bytes)} each, ${ways} ways, lines of ${show.bytes(line)})`;
}
