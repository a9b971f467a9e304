# SPDX-License-Identifier: Apache-2.0
"""Runs in which some threads hand data to others, and one number lies beside a threshold.

Each function takes that number, makes a run in which nothing else decides, and returns whether what
the threshold decides holds.
"""

from __future__ import annotations

import numpy as np

from numascape.findings import Finding, Kind, findings_of
from synthetic.pattern import PAGE, Pattern
from unit.findings.run_cases import kinds, run_of

PAGES = 100
FILLED = 10 * PAGE
"""Writes to a page: each byte ten times."""


def handed(
    *,
    writes: float = FILLED,
    reads_per_write: float = 1.0,
    read_by_writer: float = 0.0,
    instances: int = 1,
) -> Pattern:
    """Thread 1 writes the pages of `ring`, and thread 2 reads them; thread 0 waits for both.

    The writer makes `read_by_writer` of the reads itself. Thread 3 works on memory of its own.
    """
    pattern = Pattern("ring", 4)
    page = np.arange(PAGES)
    ring = pattern.structure("ring", PAGES, instances=instances)
    reads = writes * reads_per_write
    own = round(reads * read_by_writer)
    pattern.access(ring, page, 1, own, round(writes))
    pattern.access(ring, page, 2, round(reads) - own, 0)
    pattern.touch(ring, page, 1)
    other = pattern.structure("own", PAGES)
    pattern.access(other, page, 3, FILLED, FILLED)
    pattern.touch(other, page, 3)
    return pattern


def _is_stream(pattern: Pattern) -> bool:
    return Kind.PRODUCER_CONSUMER in kinds(run_of(pattern))


def is_filled_again(times: float) -> bool:
    return _is_stream(handed(writes=times * PAGE))


def blocks_follow_each_other(instances: float) -> bool:
    return _is_stream(handed(writes=PAGE / 2, instances=int(instances)))


def is_read_about_once(reads_per_write: float) -> bool:
    return _is_stream(handed(reads_per_write=reads_per_write))


def is_written_as_often(reads_per_write: float) -> bool:
    return _is_stream(handed(reads_per_write=1 / reads_per_write))


def threads_have_roles(share: float) -> bool:
    """Blocks are filled once. Their writers make all reads except this share, which others make."""
    pattern = Pattern("ring", 4)
    page = np.arange(PAGES)
    ring = pattern.structure("ring", PAGES, instances=16)
    # Two threads write half of the pages each, and read the other half; a third thread reads all.
    for writer, pages, others in ((1, page[:50], page[50:]), (2, page[50:], page[:50])):
        pattern.access(ring, pages, writer, 0, PAGE // 2)
        pattern.access(ring, others, writer, round(PAGE // 2 * (1 - share)), 0)
    pattern.access(ring, page, 3, round(PAGE // 2 * share), 0)
    pattern.touch(ring, page, np.where(page < 50, 1, 2))
    return _is_stream(pattern)


def most_is_handed_on(share: float) -> bool:
    """Only this share of the reads of a page is by others, but each page has its own writer."""
    pattern = Pattern("ring", 4)
    page = np.arange(PAGES)
    ring = pattern.structure("ring", PAGES)
    # Thread 1 writes all pages, and thread 2 some bytes of those that it reads.
    pattern.access(ring, page, 1, 0, FILLED)
    pattern.access(ring, page, 2, round(FILLED * (1 - share)), FILLED // 9)
    pattern.access(ring, page, 3, round(FILLED * share), 0)
    pattern.touch(ring, page, 1)
    return _is_stream(pattern)


def unequal(common: float, busiest: float = 2.0) -> list[Finding]:
    """Four threads; the first makes `common` of its accesses to the array of the others."""
    pattern = Pattern("stages", 5)
    pages = np.arange(40)
    shared, first = pattern.structure("shared", 40), pattern.structure("first", 40)
    owner = 1 + pages // 10
    count = np.where(owner == 1, round(1_000_000 * busiest * common), 1_000_000)
    pattern.access(shared, pages, owner, count, 0)
    pattern.access(first, pages[:10], 1, round(1_000_000 * busiest * (1 - common)), 0)
    pattern.touch(shared, pages, owner)
    pattern.touch(first, pages[:10], 1)
    return findings_of(run_of(pattern))


def does_the_same_work(common: float) -> bool:
    return any(finding.kind is Kind.LOAD_IMBALANCE for finding in unequal(common))


def lookups_matter(share: float, pages: float = 600) -> bool:
    """Four threads look entries of so many pages up; this share of all accesses becomes nearer.

    Main fills the pages, with most of the accesses to them. Each thread also has memory of its own.
    """
    pattern = Pattern("lookups", 5)
    page = np.arange(int(pages))
    made = np.random.default_rng(7).poisson(30, (4, int(pages)))
    every = int(made.sum()) / share
    s = pattern.structure("entries", int(pages))
    pattern.access(s, page[None, :], np.arange(1, 5)[:, None], made, 0)
    pattern.access(s, page, 0, 0, round(0.05 * every / len(page)))
    pattern.touch(s, page, 0)
    for thread in range(1, 5):
        own = pattern.structure(f"of thread {thread}", 100)
        pattern.access(own, np.arange(100), thread, round(0.95 * every / 400), 0)
        pattern.touch(own, np.arange(100), thread)
    return Kind.SHARED_READ_MOSTLY in kinds(run_of(pattern), s)
