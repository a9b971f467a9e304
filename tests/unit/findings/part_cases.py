# SPDX-License-Identifier: Apache-2.0
"""Runs in which a part of the work, of the pages or of the writes lies beside a threshold.

Each function takes that part, makes a run in which nothing else decides, and returns whether what
the threshold decides holds.
"""

from __future__ import annotations

import numpy as np

from numascape.findings import Kind, findings_of
from numascape.findings.changes_between_phases import filled_in
from numascape.findings.diagnoses import hot_pages
from synthetic.pattern import PAGE, Pattern
from unit.findings.run_cases import all_read, kinds, region, run_of, subject_of


def is_far(share: float) -> bool:
    """Thread 0 touched all pages first, and thread 1 does this share of the work on its part."""
    pattern = Pattern("two parts", 2)
    page = np.arange(1000)
    s = pattern.structure("A", 1000)
    pattern.access(s, page, np.where(page < 1000 * (1 - share), 0, 1), 40_000, 0)
    pattern.touch(s, page, 0)
    return Kind.SERIAL_FIRST_TOUCH in kinds(run_of(pattern))


def writes_are_initial(bytes_each: float) -> bool:
    """The last thread touched all pages first, and wrote this number of bytes of each page once.

    With these writes, 2.5 % of the work are writes; without them, the work has no writes.
    """
    pattern = Pattern("table", 4)
    writes = np.where(np.arange(4) == 3, round(PAGE / bytes_each), 0)[:, None]
    all_read(pattern, 256, 10_000, writes)
    return Kind.SHARED_READ_MOSTLY in kinds(run_of(pattern))


def load_is_judged(changing: float) -> bool:
    """Thread 0 makes 1.6 times the mean; pages with random users have this share of all."""
    pattern = Pattern("pool", 4)
    work = region(pattern, "work", 3)
    page = np.arange(1000)
    ordered = np.searchsorted([0.4, 0.6, 0.8], page / 1000, side="right")
    drawn = np.random.default_rng(7).permutation(ordered)
    for name, owner, share in (("A", drawn, changing), ("B", ordered, 1 - changing)):
        s = pattern.structure(name, 1000)
        pattern.access(s, page, owner, round(1_000_000 * share), 0, phase=work)
        pattern.touch(s, page, owner, phase=work)
    return any(found.kind is Kind.LOAD_IMBALANCE for found in findings_of(run_of(pattern)))


def parts_are_long_enough(pages: float) -> bool:
    """All 64 threads use the pages, most of all 72 pages; there are `pages` for each thread."""
    count = round(64 * pages)
    pattern = Pattern("hot", 64)
    reads = np.where(np.arange(count) < 72, 300_000, 3000)
    all_read(pattern, count, reads[None, :])
    return hot_pages.diagnose(subject_of(run_of(pattern))) is not None


def phase_fills(share: float) -> bool:
    """A phase that runs once and only writes touched this share of the pages first."""
    pattern = Pattern("filled", 2)
    pattern.phase("outside")
    fill = pattern.phase("fill", line=3, repetitions=1)
    work = pattern.phase("work", line=9, repetitions=2)
    page = np.arange(100)
    first = page < round(100 * share)
    s = pattern.structure("A", 100)
    pattern.access(s, page[first], page[first] % 2, 0, 500, phase=fill)
    pattern.access(s, page, page // 50, 500, 500, phase=work)
    pattern.touch(s, page[first], page[first] % 2, phase=fill)
    pattern.touch(s, page[~first], page[~first] // 50, phase=work)
    return filled_in(subject_of(run_of(pattern))) == fill
