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
            The report counts <Term of="memory line">memory lines</Term>: the cache lines that{" "}
            {modelled(report.run)} fetch from memory and write back. The time of a memory line
            depends on the node of the page. The time of an access that hits a cache does not.
          </>
        ) : (
          <>
            The report counts <Term of="access">accesses</Term>. Most of them hit a cache. For
            these, the node of the page does not matter. <Term of="memory line">Memory lines</Term>{" "}
            are the cache lines that {modelled(report.run)} fetch from memory and write back.
          </>
        )}{" "}
        Findings, source lines, and the panel of readers and writers always show accesses. Gains are
        predicted from memory lines.
      </p>
    </section>
  );
}

/** The model gives each thread a cache of its own. */
function modelled({ recorder }: Run): string {
  const cache = recorder.options?.cache;
  if (!cache) return "the threads' modelled caches";
  const { bytes, ways, line_bytes: line } = cache;
  return `the threads' modelled caches (${show.bytes(bytes)} each, ${ways} ways, lines of ${show.bytes(line)})`;
}
