// SPDX-License-Identifier: Apache-2.0
import { Term } from "./term";

export function Principles({ folded }: { folded: string[] }) {
  return (
    <section class="principles" aria-labelledby="principles">
      <h2 id="principles">Principles, in short</h2>
      <p class="prose">
        On a NUMA machine every <Term of="node" /> has its own memory. An <Term of="access" /> to
        another node's memory takes longer, and all that go to one node share its bandwidth. Three
        questions decide whether a program suffers: which threads use a <Term of="page" />, where is
        that page, and where do the threads run.
      </p>
      <ul class="prose">
        <li>
          <b>Split the data.</b> Let each thread work on a contiguous part, so that a page has one
          user.
        </li>
        <li>
          <b>Place it near its threads.</b> Pages go where they are touched first: initialise in
          parallel, with the division of work of the loops that follow, and pin the threads.
        </li>
        <li>
          <b>Spread or copy what all share.</b> <Term of="interleave">Interleave</Term> pages that
          all threads write; keep a copy per node of what is only read.
        </li>
        <li>
          <b>Beware of who initialises.</b> Reading input or zeroing with one thread puts everything
          on that thread's node, and so does <Term of="first touch" /> of calloc'ed memory in a
          serial loop.
        </li>
        <li>
          <b>Beware of stacks.</b> A stack is on the node where its thread started. Arrays on it
          that other threads use are far from them: allocate those, and initialise them in parallel.
        </li>
      </ul>
      {folded.length > 0 && (
        <>
          <h3>What this page sums up</h3>
          <ul class="prose folded">
            {folded.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
