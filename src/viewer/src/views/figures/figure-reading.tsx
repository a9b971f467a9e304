// SPDX-License-Identifier: Apache-2.0
import type { Structure } from "../../data/report";
import type { Counting } from "../../model/counting";
import { Sentences } from "../elements/sentence";
import { Term } from "../elements/term";

interface Props {
  structure: Structure;
  counting: Counting;
  /** Whether it is known which threads made the accesses. */
  threads: boolean;
}

/** Text beside the figures about what they show of this structure, and how to read them. */
export function FigureReading({ structure, counting, threads }: Props) {
  const { see, advice } = structure.reading;
  const accesses = counting !== "first touches";
  const lines = counting === "memory lines";
  return (
    <aside class="reading" aria-label="What the figures show">
      {see.length > 0 && <h3>{lines ? "What its accesses show" : "What this shows"}</h3>}
      {see.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      {advice.length > 0 && <h3>Fix</h3>}
      <Sentences texts={advice} />
      {!threads && <HowToReadPages />}
      {threads && (accesses ? <HowToRead lines={lines} /> : <HowToReadFirstTouches />)}
      {threads && accesses && <WhatToDo />}
    </aside>
  );
}

function HowToReadPages() {
  return (
    <details open>
      <summary>How to read the figure</summary>
      <p>
        Columns are the structure's <Term of="page">pages</Term>, in order. A stronger colour means
        more samples. All threads are in one row, because this recording does not tell them apart.
      </p>
    </details>
  );
}

function HowToReadFirstTouches() {
  return (
    <details open>
      <summary>How to read the figure</summary>
      <p>
        Columns are the structure's <Term of="page">pages</Term>, in order. Rows are the{" "}
        <Term of="thread">threads</Term>. A mark shows which thread touched a page first. The kernel
        put the page on the <Term of="node" /> where that thread ran.
      </p>
      <p>
        This recording does not show which threads used the pages later. If the loops that use this
        structure divide it among threads, the figure should show the same division: blocks, or a
        diagonal.
      </p>
    </details>
  );
}

function HowToRead({ lines }: { lines: boolean }) {
  return (
    <details open>
      <summary>How to read the figures</summary>
      <p>
        <b>{lines ? "Memory lines." : "Access distribution."}</b> Columns are the structure's{" "}
        <Term of="page">pages</Term>, in order. Rows are the <Term of="thread">threads</Term>. The
        colour of a cell shows{" "}
        {lines
          ? "how many cache lines of the page the thread fetches from memory and writes back. If a cell has accesses but no colour, the page was in the thread's cache."
          : "how often the thread accesses the page."}{" "}
        The curve above is the mean over threads. The bars on the right are the mean over pages.
      </p>
      <p>
        <b>First touch.</b> This figure has the same axis of pages. It shows which thread touched
        each page first. The kernel put the page on the <Term of="node" /> where that thread ran. If
        both figures have the same shape, pages are local for their users.
      </p>
      <p>
        <b>Threads by node</b> puts threads of one node next to each other. <b>By shared pages</b>{" "}
        puts threads that use the same pages next to each other. Groups of such threads appear as
        blocks.
      </p>
      <p>
        <b>2 MiB pages.</b> A kernel with transparent huge pages places memory in these units. A
        cell has a colour if the thread uses any part of the 2 MiB page.
      </p>
      <p>
        <b>Difference.</b> Choose two threads or groups of threads, A and B. The upper bands show
        the mean of each. The last band is purple where A has more, and orange where B has more. In
        the grey theme, the part of B is hatched. The middle of the scale means no difference.
      </p>
    </details>
  );
}

function WhatToDo() {
  return (
    <details>
      <summary>What to do if …</summary>
      <dl class="what-if">
        <dt>… there is a diagonal, or blocks</dt>
        <dd>
          Each thread has its own part. This is good. Pin the threads, and check that first touch
          has the same shape.
        </dd>
        <dt>… whole columns are filled, or all cells have the same colour</dt>
        <dd>
          All threads use the same pages, so a page is remote for most of them on any node. Divide
          the work so that each thread has its own part. Otherwise interleave, or copy data that is
          only read.
        </dd>
        <dt>… one row has a strong colour</dt>
        <dd>
          One thread does most of the work here. Divide the work, or put the pages on the node of
          this thread.
        </dd>
        <dt>… first touch is one horizontal line</dt>
        <dd>
          One thread initialised everything, so all pages are on its node. Initialise in parallel,
          with the same division of work as in the loops that follow.
        </dd>
        <dt>… blocks appear only if threads are ordered by shared pages</dt>
        <dd>
          Threads that work on the same pages may run on different nodes. Pin each group of such
          threads to the CPUs of one node, or number the threads so that neighbours share pages.
        </dd>
        <dt>… most 2 MiB pages are shared, but 4 KiB pages are not</dt>
        <dd>
          A huge page puts parts of several threads on one node. Align each thread's part to 2 MiB,
          or allocate the parts separately. Otherwise use small pages for this structure.
        </dd>
        <dt>… A and B differ, but should do the same work</dt>
        <dd>
          The load is imbalanced. If one group uses a wide range of pages alone, give a part of this
          range to the other group.
        </dd>
      </dl>
    </details>
  );
}
