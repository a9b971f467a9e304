// SPDX-License-Identifier: Apache-2.0
import type { Structure } from "../data/report";
import type { Counting } from "../model/counting";
import { Sentence } from "./sentence";
import { Term } from "./term";

interface Props {
  structure: Structure;
  counting: Counting;
}

/** Beside the figures: what this structure's show, and how to read any. */
export function FigureReading({ structure, counting }: Props) {
  const { see, advice } = structure.reading;
  const accesses = counting !== "first touches";
  const lines = counting === "memory lines";
  return (
    <aside class="reading" aria-label="What the figures show">
      {see.length > 0 && <h3>{lines ? "What its accesses show" : "What this shows"}</h3>}
      {see.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      {advice.length > 0 && <h3>What to do</h3>}
      {advice.map((sentence) => (
        <p key={sentence}>
          <Sentence text={sentence} />
        </p>
      ))}
      {accesses ? <HowToRead lines={lines} /> : <HowToReadFirstTouches />}
      {accesses && <WhatToDo />}
    </aside>
  );
}

function HowToReadFirstTouches() {
  return (
    <details open>
      <summary>How to read the figure</summary>
      <p>
        Across: the structure's <Term of="page">pages</Term>, in order. Down: the{" "}
        <Term of="thread">threads</Term>. A mark says which thread touched a page first. The kernel
        put the page on the <Term of="node" /> where that thread ran.
      </p>
      <p>
        Who used the pages afterwards is not in this recording. If the loops that use this structure
        divide it among threads, the figure should show the same division: blocks, or a diagonal.
      </p>
    </details>
  );
}

function HowToRead({ lines }: { lines: boolean }) {
  return (
    <details open>
      <summary>How to read the figures</summary>
      <p>
        <b>{lines ? "Memory lines." : "Access distribution."}</b> Across: the structure's{" "}
        <Term of="page">pages</Term>, in order. Down: the <Term of="thread">threads</Term>. The
        colour of a field is{" "}
        {lines
          ? "how many cache lines of that page that thread takes from memory, and gives back; an empty field with accesses is one that the thread's cache holds."
          : "how often that thread accesses that page."}{" "}
        The curve above is the average over threads, the bars to the right the average over pages.
      </p>
      <p>
        <b>First touch.</b> On the same axis: which thread touched each page first. The kernel put
        the page on the <Term of="node" /> where that thread ran. Where the two figures have the
        same shape, pages are near their users.
      </p>
      <p>
        <b>Threads by node</b> puts those that share a memory together; <b>by shared pages</b> puts
        those together that use the same pages, so teams show as blocks whatever their numbers.
      </p>
      <p>
        <b>Pages of 2 MiB</b> are what a kernel with transparent huge pages places. A field is
        coloured when the thread uses any part of the large page.
      </p>
      <p>
        <b>Difference.</b> Name two threads or groups, A and B. The bands are their averages, and
        what A has more (purple) or B (orange); in grey, B's part is hatched. The middle of the
        scale: no difference.
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
          Each thread has its own part: good. Pin the threads, and see that first touch has the same
          shape.
        </dd>
        <dt>… columns are full, or the field is even</dt>
        <dd>
          All threads use the same pages, so wherever a page is, it is far from most. Split the work
          so that each thread keeps to a part; else interleave, or copy what is only read.
        </dd>
        <dt>… one row is bright</dt>
        <dd>
          One thread does most of the work here. Share the work out, or keep its pages near it.
        </dd>
        <dt>… first touch is a single line</dt>
        <dd>
          One thread initialised everything, and all pages are on its node. Initialise in parallel,
          with the division of the loops that follow.
        </dd>
        <dt>… teams show by shared pages, but not by number</dt>
        <dd>
          Threads that work on the same pages run apart. Pin each team to the CPUs of one node, or
          number the threads so that neighbours share.
        </dd>
        <dt>… most pages of 2 MiB are shared, those of 4 KiB are not</dt>
        <dd>
          Huge pages bring parts of several threads onto one node. Align each thread's part to 2
          MiB, or give it an allocation of its own; else use small pages for this structure.
        </dd>
        <dt>… A and B differ, but run on the same data by design</dt>
        <dd>
          The work is divided unevenly. Where bands of one colour are wide, move that range to the
          other group.
        </dd>
      </dl>
    </details>
  );
}
