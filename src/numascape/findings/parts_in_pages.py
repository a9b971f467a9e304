# SPDX-License-Identifier: Apache-2.0
"""Distinguishes parts of threads that are shorter than a page from data that threads share.

If there are enough samples, they decide. Otherwise, the shares of the threads in each page decide,
if these shares are regular.
"""

from __future__ import annotations

import polars as pl

from numascape.findings.page_use import page_use
from numascape.findings.pattern import Pattern, pattern_of, shared_by_a_rule
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    MAX_LINE_OVERLAP,
    MIN_LINE_OVERLAP,
    MIN_LINE_PAIRS,
    MIN_WRITERS,
)


def knows_lines(subject: Subject) -> bool:
    """Whether samples show if threads share its cache lines."""
    return subject.seen.overlap.by_chance >= MIN_LINE_PAIRS


def has_own_lines(subject: Subject) -> bool:
    """Whether samples show that each thread has its own parts of a page, during the whole work.

    If a thread takes any next part when it is free, this is so until the work is repeated.
    """
    if not knows_lines(subject) or subject.seen.overlap.ratio > MAX_LINE_OVERLAP:
        return False
    schedule = subject.schedule
    return not subject.in_tasks and (schedule is None or not schedule.is_dynamic)


def has_own_bytes(subject: Subject) -> bool:
    """Whether samples show that each thread has its own bytes of all lines, and several write.

    It is so if the number of the thread is the last index, as in `counts[cell][thread]`. This does
    not depend on who gets which part of the work.
    """
    found = subject.seen.byte_overlap
    writers = subject.rows.filter(pl.col("writes") > 0)["thread"].n_unique()
    return (
        found.by_chance >= MIN_LINE_PAIRS
        and found.ratio <= MAX_LINE_OVERLAP
        and writers >= MIN_WRITERS
    )


def are_divided_differently(subject: Subject) -> bool:
    """Whether each thread has its own lines in each phase, but other ones in other phases."""
    within = subject.seen.overlap_in_phases
    return (
        within.by_chance >= MIN_LINE_PAIRS
        and within.ratio <= MAX_LINE_OVERLAP
        and knows_lines(subject)
        and subject.seen.overlap.ratio >= MIN_LINE_OVERLAP
    )


def has_regular_parts(subject: Subject) -> bool:
    """Whether all threads write all pages by a rule, so that each has its own parts of a page.

    Threads that write the same elements must agree on an order. Then mostly chance decides how
    often each thread writes a page.
    """
    if subject.pattern is not Pattern.SHARED:
        return False
    if knows_lines(subject) and subject.seen.overlap.ratio >= MIN_LINE_OVERLAP:
        return False
    written = page_use(subject.blocks.with_columns(reads=pl.lit(0, pl.UInt64)))
    return (
        len(written.threads) == len(subject.use.threads)
        and pattern_of(written) is Pattern.SHARED
        and shared_by_a_rule(written)
    )
