# SPDX-License-Identifier: Apache-2.0
"""Runs in which samples saw cache lines, in which one number lies beside a threshold.

Each function takes that number, makes a run in which nothing else decides, and returns whether what
the threshold decides holds.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.findings import Kind
from numascape.findings.parts_in_pages import has_own_lines, has_regular_parts
from synthetic.pattern import Pattern
from unit.findings.line_cases import used_by_all
from unit.findings.run_cases import kinds, run_of, subject_of

_PAGES, _HALF, _WHOLE = 64, 32, 64


def seen_on(pages: int, overlap: float) -> Pattern:
    """Four threads write each page; samples saw two of them in `overlap` of the expected lines.

    On each of these pages, thread 0 was seen in the first half of the lines, and thread 1 in as
    many others. By chance, they would be seen in the same line 16 times.
    """
    pattern, s = used_by_all(_PAGES, 4)
    half = (1 << _HALF) - 1
    common = round(overlap * _HALF * _HALF / _WHOLE)
    for page in range(pages):
        pattern.see(s, page, 0, half)
        pattern.see(s, page, 1, half << (_HALF - common))
    return pattern


def pairs_are_enough(pairs: float) -> bool:
    """This number of lines would be seen by chance: from two lines and some others of one page."""
    others = int(pairs / (2 * (_WHOLE + 2 * (63 + 62 + 61 + 60)) / _WHOLE**2))
    pattern, s = used_by_all(_PAGES, 4)
    pattern.see(s, 0, 0, 0b11)
    pattern.see(s, 0, 1, ((1 << others) - 1) << (_WHOLE - others))
    return has_own_lines(subject_of(run_of(pattern)))


def lines_are_own(overlap: float) -> bool:
    return has_own_lines(subject_of(run_of(seen_on(8, overlap))))


def bytes_are_compared(pairs: float) -> bool:
    """Two threads were seen too often in the same lines, but samples show different bytes.

    With 8 bytes each, chance gives an eighth of a pair in each of these lines.
    """
    overlap = 6 / 16
    pattern = seen_on(8, overlap)
    common = range(_HALF - round(overlap * _HALF * _HALF / _WHOLE), _HALF)
    lines = [(page, line) for page in range(8) for line in common]
    for page, line in lines[: int(8 * pairs)]:
        for thread in (0, 1):
            pattern.see(0, page, thread, 1 << line, line=line, bytes_=0xFF << (8 * thread))
    return has_own_lines(subject_of(run_of(pattern)))


def regular_shares_are_parts(overlap: float) -> bool:
    """Pages that all threads use in exactly the same way."""
    return has_regular_parts(subject_of(run_of(seen_on(8, overlap))))


def packed(
    times: int,
    home: float = 1.0,
    *,
    writers: int = 4,
    written: float = 0.5,
    shared: bool = False,
) -> Pattern:
    """Four threads use 8 bytes each of one line, `times` each, which is `home` of their accesses.

    The first `writers` do `written` of their accesses with code that writes.

    The run has 4,100,000 accesses.
    """
    pattern = Pattern("packed", 4)
    s = pattern.structure("counts", 2, size=4096)
    thread = np.arange(4)
    pattern.access(s, np.array([0]), thread, 100_000, np.where(thread < writers, 25_000, 0))
    rest = pattern.structure("rest", 64)
    pattern.access(rest, np.arange(64), np.arange(64) // 16, 56_250, 0)
    for s_, pages in ((s, 2), (rest, 64)):
        pattern.touch(s_, np.arange(pages), np.arange(pages) * 4 // pages)
    for number in range(4):
        mask = 0xFF << (0 if shared else 8 * number)
        writing = round(times * written) if number < writers else 0
        pattern.see(s, 0, number, 1, line=0, bytes_=mask, times=times, writing=writing)
        pattern.see(s, 0, number, 2, times=round(times / home) - times)
    return pattern


def false_sharing_is_found(pattern: Pattern) -> bool:
    return Kind.LINE_FALSE_SHARING in kinds(run_of(pattern))


def is_home(share: float) -> bool:
    return false_sharing_is_found(packed(90_000, share))


def is_guest(share: float) -> bool:
    """Thread 1 makes this share of its accesses beside the bytes that thread 0 writes."""
    pattern = packed(90_000, writers=1)
    pattern.seen_lines = [row for row in pattern.seen_lines if row[4] == 0]
    pattern.see(0, 0, 1, 1, line=0, bytes_=0xFF00, times=round(share * 900_000))
    pattern.see(0, 0, 1, 2, times=round((1 - share) * 900_000))
    return false_sharing_is_found(pattern)


def packed_lines_matter(share: float) -> bool:
    """The line can be taken by this share of the run's accesses."""
    return false_sharing_is_found(packed(round(share * 4_100_000 / 4)))


def enough_is_separate(share: float) -> bool:
    """Threads 0 and 1 use separate bytes, and threads 2 and 3 those of both, less often.

    `share` of the pairs, weighted by the smaller number of accesses, has no common byte.
    """
    pattern = packed(90_000)
    pattern.seen_lines = [row for row in pattern.seen_lines if row[3] != 0]
    less = round(90_000 * (1 - share) / (5 * share))
    used = ((0xFF, 90_000), (0xFF00, 90_000), (0xFFFF, less), (0xFFFF, less))
    for number, (mask, times) in enumerate(used):
        pattern.see(0, 0, number, 1, line=0, bytes_=mask, times=times, writing=times)
    return false_sharing_is_found(pattern)


def lines_are_written(share: float) -> bool:
    return false_sharing_is_found(packed(90_000, written=share))


def was_alone(share: float) -> bool:
    """Whether accesses are left out if thread 0 made this share of them while it was alone."""
    pattern, s = used_by_all(_PAGES, 4)
    pattern.see(s, 0, 0, 1, times=1000, alone=round(1000 * share))
    pattern.see(s, 0, 1, 1, times=1000)
    rows = subject_of(run_of(pattern)).rows
    return bool(rows.filter(pl.col("thread") == 0).is_empty())
