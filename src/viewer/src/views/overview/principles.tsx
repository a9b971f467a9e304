// SPDX-License-Identifier: Apache-2.0
import { Term } from "../elements/term";

export function Principles({ folded }: { folded: string[] }) {
  return (
    <section class="principles" aria-labelledby="principles">
      <h2 id="principles">Principles, in short</h2>
      <p class="prose">
        On a NUMA machine every <Term of="node" /> has its own memory. An <Term of="access" /> to
        another node's memory takes longer, and all accesses to a node share its bandwidth. Three
        questions decide whether a program is slow: Which threads use a <Term of="page" />? On which
        node is the page? On which nodes do the threads run?
      </p>
      <ul class="prose">
        <li>
          <b>Divide the data.</b> Give each thread a contiguous part, so that each page has one
          user.
        </li>
        <li>
          <b>Place data on the node of its threads.</b> A page goes to the node of its first
          toucher: initialise in parallel, with the same division of work as in the loops that
          follow, and pin the threads.
        </li>
        <li>
          <b>Spread or copy shared data.</b> <Term of="interleave">Interleave</Term> pages that all
          threads write. Keep a copy per node of data that is only read.
        </li>
        <li>
          <b>Check who initialises.</b> If one thread reads the input or sets memory to zero, all
          pages go to its node. The <Term of="first touch" /> of memory from calloc in a serial loop
          has the same effect.
        </li>
        <li>
          <b>Check stacks.</b> A stack is on the node where its thread started. Arrays on it are
          remote for threads of other nodes: put them on the heap, and initialise them in parallel.
        </li>
      </ul>
      {folded.length > 0 && (
        <>
          <h3>What this report shows only as sums</h3>
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
