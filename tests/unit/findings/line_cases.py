# SPDX-License-Identifier: Apache-2.0
"""Runs with cache lines that travel, in which one number lies beside a threshold of the findings.

Each function takes that number, makes a run in which nothing else decides, and returns whether what
the threshold decides holds.
"""

from __future__ import annotations

import numpy as np

from numascape.findings import Kind
from synthetic.pattern import Pattern
from unit.findings.run_cases import kinds, run_of

_TRAVEL = {Kind.LINE_FALSE_SHARING, Kind.LINE_TRUE_SHARING}


def used_by_all(pages: int, writers: int, accesses: int = 40_000) -> tuple[Pattern, int]:
    """Four threads use the pages of a structure; the first of these threads also write."""
    pattern = Pattern("lines", 4)
    s = pattern.structure("A", pages)
    thread = np.arange(4)[:, None]
    writes = np.where(thread < writers, accesses // 2, 0)
    pattern.access(s, np.arange(pages)[None, :], thread, accesses - writes, writes)
    pattern.touch(s, np.arange(pages), 0)
    return pattern, s


def parts_are_separate(shared: float, writers: int = 4) -> bool:
    pages = 64
    pattern, s = used_by_all(pages, writers)
    lines = np.linspace(0, shared * 64 * pages, pages + 1).astype(int)
    for page, count in enumerate(np.diff(lines).tolist()):
        for line in range(count):
            row = (s, 0, page, line, 0, 1, 0, *("work", "lines.c", 70) * 2, 0, 0, 9, 9, 0, 0)
            pattern.transfers.append(row)
    return Kind.PAGE_FALSE_SHARING in kinds(run_of(pattern))


def lines_are_followed(share: float) -> bool:
    """Four threads write this share of the pages, and only read the others; no line travels.

    All pages have the same number of accesses.
    """
    pattern, s = Pattern("lines", 4), 0
    pattern.structure("A", 64)
    page, thread = np.arange(64)[None, :], np.arange(4)[:, None]
    writes = np.where(page < round(64 * share), 20_000, 0)
    pattern.access(s, page, thread, 40_000 - writes, writes)
    pattern.touch(s, np.arange(64), 0)
    pattern.take_lines(s, 0, (0, 1), (1, 1, 1))
    return Kind.PAGE_FALSE_SHARING in kinds(run_of(pattern))


def is_false(share: float) -> bool:
    pattern, s = used_by_all(64, 4)
    pattern.take_lines(s, 0, (0, 1), (50_000, 1000, round(1000 * (1 - share))))
    return Kind.LINE_FALSE_SHARING in kinds(run_of(pattern))


def matter(per_access: float) -> bool:
    pattern, s = used_by_all(64, 4)
    accesses = 64 * 4 * 40_000
    pattern.take_lines(s, 0, (0, 1), (round(per_access * accesses), 1000, 1000))
    return bool(kinds(run_of(pattern)) & _TRAVEL)


def are_enough(transfers: float) -> bool:
    pattern, s = used_by_all(1, 4, 1000)
    pattern.take_lines(s, 0, (0, 1), (int(transfers), 500, 500))
    return bool(kinds(run_of(pattern)) & _TRAVEL)


def are_known(judged: float) -> bool:
    pattern, s = used_by_all(1, 4, 1000)
    pattern.take_lines(s, 0, (0, 1), (2000, int(judged), 50))
    return bool(kinds(run_of(pattern)) & _TRAVEL)
