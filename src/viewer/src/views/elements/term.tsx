// SPDX-License-Identifier: Apache-2.0
// Terms of the field, explained where they are used.

import { useId } from "preact/hooks";

const MEANINGS = {
  access:
    "One load or store that the program executed. Reads and writes are counted separately, on the page that they access.",
  "memory line":
    "A cache line that a thread fetches from memory or writes back to it, according to a model of the thread's cache. The model has no caches of other threads and no prefetching.",
  "first touch":
    "The first access to a page. By default, the kernel then puts the page on the node of the CPU that made this access.",
  node: "A part of the machine with its own memory and CPUs. A CPU accesses the memory of its own node faster than that of other nodes.",
  "NUMA factor":
    "The read latency to another node's memory divided by the latency to local memory, measured or estimated by the firmware. Reads that hit a cache do not have this cost.",
  phase:
    "A part of the run: a parallel region, a time slice, or a part that the program marked. All repetitions of a region are one phase.",
  sharing:
    "Two threads share a page when both access it. If they run on different nodes, the page is remote for one of them.",
  "remote access": "An access to the memory of a node on which the thread does not run.",
  page: "The unit in which the kernel places memory: 4 KiB, unless huge pages are used. A page is on exactly one node.",
  structure:
    "A named piece of the program's memory: a global variable, the blocks allocated at one source line, a thread's stack, or a mapped file.",
  thread: "Numbered in order of creation; thread 0 is the main thread.",
  share: "The share of all counted accesses of the run that go to this structure.",
  named:
    "The share of accesses to structures whose name is a variable, a field, a file or a line of the source. The other two shares are memory that has a name but no place in the source (stacks, runtimes, code), and memory without a name.",
  overhead:
    "CPU time of the recorded run divided by the CPU time without recording. record --measure-cost measures it.",
  interleave:
    "Spread pages over all nodes in turn, so that no node's memory becomes the bottleneck.",
} as const;

export type Term = keyof typeof MEANINGS;

export function Term({ of, children }: { of: Term; children?: string }) {
  const id = useId();
  return (
    <span class="term" tabIndex={0} aria-describedby={id}>
      {children ?? of}
      <span class="meaning" role="tooltip" id={id}>
        {MEANINGS[of]}
      </span>
    </span>
  );
}
