# SPDX-License-Identifier: Apache-2.0
"""Every number that decides whether something is a finding, each with its reason.

Shares are 0..1. What the labelled programs in tests/integration/findings say about these numbers
is printed by bench/findings.
"""

from __future__ import annotations

MINOR = 0.01
"""Share of the run's accesses below which a structure is not worth the reader's time: were all of
them twice as slow as they need be, the run would lose one percent."""

MORE_THAN_ITS_PART = 2.0
"""How many times a thread's even part of all pages one must have touched first, for what it touched
to be others' memory as well, rather than its own."""

UNCERTAIN = 0.5
"""How sure a finding is whose condition is half seen: who touched pages first, but not who used
them."""

SERIAL = 0.8
"""Share of a structure's pages that one thread touched first, from which first touch is serial. A
parallel initialisation of two threads gives a half; what remains up to one is what other threads
need at the ends, or what is filled later."""

FEW_LINES = 1 / 128
"""Lines from memory per access, up to which a structure stays in caches, where they were counted:
one line for 16 times that each of its eight words is used, as REUSED."""

FOREIGN = 0.5
"""Share of the accesses by others than the one who is meant to be near, from which it is not near:
most accesses are then made from elsewhere."""

SPLIT = 0.75
"""Mean share of a page's busiest thread, from which a structure is split among threads. Two threads
that share a page evenly have a half; halos of a stencil and parts that meet inside a page leave
more than three quarters unless parts are only a few pages long."""

EVENLY_SHARED = 1.75
"""A structure is shared by all when a page's busiest thread has at most this many times its even
share of the page."""

USER = 0.05
"""Of its even share of a page's accesses, what a thread must make to count as a user of it: the
element beside a boundary does not make two parts meet."""

READ_MOSTLY = 0.01
"""Share of writes in the accesses of the work, up to which copies are worth keeping: each write
must be made in every copy."""

PARALLEL = 0.95
"""Share of a structure's accesses in a phase that one thread may have for the phase still to be
work of several threads."""

AS_MUCH = 0.5
"""Of the mean of the other threads' accesses, what the thread that initialised a structure must
make beside that to count as one of those who work on it."""

MUCH_MORE = 4.0
"""Times the mean of the other threads' accesses, beyond which the thread that initialised a
structure does something else there than they do, such as checking it."""

PART = 0.6
"""Share of the pages that threads use, below which each has a part: two halves and what is between
them are more than a half each."""

CACHE_BYTES = 128 << 10
"""Bytes that one thread uses of a structure, up to which they stay in its core's cache: half of
256 KiB, the smallest second-level cache of server processors since 2010; the rest is for other
data. A machine's own description, where given, takes its place."""

LEAVE = 0.05
"""Share of the run's accesses from which a structure that stays in caches is worth a word: it is
hot enough for a reader to want to place it."""

LITTLE = 0.05
"""Size of a structure over the size of all that is as hot, up to which it does not matter whether
it stays in caches: it is a twentieth of what loops over all of them bring from memory."""

AS_HOT = 4
"""How many times less often a structure may be used, byte for byte, and still compete for the
cache: loops over arrays of about the same heat push each other out."""

REUSED = 16
"""Accesses to each 8 bytes of what a thread uses, from which it is used again and again: loading
it once into the cache is then under a sixteenth of its accesses."""

BOUNDARY = 0.25
"""Share of the accesses on pages that several parts meet in, from which the boundaries are worth
moving; below, they cost less than a quarter of what any misplacement does."""

ORDERLY = 0.9
"""Share of the steps from page to page in which the parts' order must hold for parts to be
contiguous, and share of a thread's displaced pages that must be on one node for the thread to have
moved; the rest is for halos and leftovers."""

ENDS = 0.3
"""Share of the steps from page to page at which the users change where parts are no longer than a
few pages; in longer parts, pages with two users are no boundaries."""

FEW_USERS = 3.0
"""Threads that use a page where contiguous parts meet, at most, in the mean."""

HOT = 1.5
"""How much more than the mean the heaviest of equally long parts has, from which pages are
unevenly used: that part's node then needs half as much time again."""

UNEVEN = 1.4
"""How much more than the mean the busiest thread of a phase accesses, from which work is uneven:
with perfect balance the phase would take at most 1 / 1.4 = 71 % of its time."""

IDLE = 0.1
"""Of the mean thread's accesses, what a thread must make to take part in the work; below it waits,
looks after the others, or touches the end of a block in passing."""

WORK = 0.1
"""Share of the run's accesses that a phase must have for its balance to matter: a gain of a quarter
of it is then two percent of the run."""

TELLING = 6
"""Displaced pages of a thread, from which it is no chance that they are on one node: of pages that
are dealt out over two nodes, it happens to one thread in 32."""

RANDOM_OWNER = 0.015
"""How much of the greatest possible spread a thread's share of a page has, over pages, from which
owners change: with a dynamic schedule repeated r times, 1/r of it. A schedule that changes owners
more than some 60 times is as good as evenly shared."""

RUNS = 4
"""Runs of pages with the same users, per thread, above which pages are dealt out at random rather
than in blocks."""

PERIODIC = 0.5
"""Correlation of the pages' users with those some pages further, from which they are dealt out in a
regular pattern, as the columns of a matrix are."""

VECTOR_STEP = 0.1
"""Half the sum of the differences of two pages' shares by thread, from which their users differ."""

OWN_PHASE = 0.1
"""Share of a structure's work that a phase must have for its owners to be compared with others'."""

CHANGED_OWNER = 0.3
"""Share of the accesses, in phases, on pages whose owner is another in the whole work."""

HUGE_PAGES = 4
"""Whole pages of 2 MiB in a structure, from which parts that meet in them are worth a word: what is
smaller fits into the last cache of most server processors."""

PILED = 0.75
"""Share of the accesses that one node's memory serves, from which it is the bottleneck, given that
no more than SPREAD of them come from its own threads."""

SPREAD = 0.6
"""Share of the accesses that threads of one node may make for the work to be spread over nodes."""

DISPLACED = 0.1
"""Share of a structure's pages that are not on their first toucher's node, from which that matters
as a cause of its own."""

FULL = 0.8
"""Probability that a displaced page was touched later than one in its place, from which the node
was full; 0.5 is chance, as with pages that a policy spread."""

DEALT = 1.3
"""How much more than the mean the node with most pages may have for them to be interleaved."""

REMOTE = 0.1
"""Share of a structure's accesses that go to another node, below which its pages are well placed,
whoever touched them first."""

SMALL_GAIN = 0.01
"""Share of the run's accesses, or of its predicted time, below which a finding is left out, for
MINOR's reason."""


def sureness(value: float, threshold: float, certain: float) -> float:
    """Confidence from how far a value is beyond its threshold: 0.5 at it, 1 at `certain`."""
    return min(1.0, max(0.5, 0.5 + 0.5 * (value - threshold) / (certain - threshold)))
