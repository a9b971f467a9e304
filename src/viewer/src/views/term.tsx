// SPDX-License-Identifier: Apache-2.0
// Terms of the field, explained where they are used.

import { useId } from "preact/hooks";

const MEANINGS = {
  access:
    "One load or store that the program executed. Reads and writes are counted apart, on the page they go to.",
  "memory line":
    "A cache line that a thread's cache, as modelled, lacks and takes from memory, or has changed and gives back. The model knows nothing of other threads' caches, and of prefetching.",
  "first touch":
    "The first access to a page. The kernel then takes memory for it, by default on the node of the CPU that made this access.",
  node: "A part of the machine with its own memory and CPUs. A CPU reaches its own node's memory faster than another's.",
  "NUMA factor":
    "How much longer a read takes from another node's memory than from the own node's: latency over latency, or the firmware's estimate of it. What is read from a cache does not pay it.",
  phase:
    "A part of the run: a parallel region, a time slice, or what the program marked. Repetitions of the same region are one phase.",
  sharing:
    "Two threads share a page when both access it. If they run on different nodes, the page is far from one of them.",
  "remote access": "An access to memory of another node than the one the thread runs on.",
  page: "The unit in which the kernel places memory: 4 KiB, unless huge pages are used. A page is on exactly one node.",
  structure:
    "A named piece of the program's memory: a global variable, the blocks allocated at one place, a thread's stack, or a mapped file.",
  thread: "Numbered in order of creation; thread 0 is the main thread.",
  share: "Part of all counted accesses of the run that go to this structure.",
  attributed:
    "Share of the accesses that could be given to a structure with a name. The rest is in remainders such as the allocator's own memory.",
  overhead:
    "CPU time of the recorded run divided by that of the program alone, which record --measure-cost measures.",
  interleave: "Spread pages over all nodes in turn, so that no node's memory is the bottleneck.",
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
