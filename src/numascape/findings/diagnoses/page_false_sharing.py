# SPDX-License-Identifier: Apache-2.0
"""Threads have contiguous parts that are so short that most pages hold parts of several threads."""

from __future__ import annotations

import polars as pl

from numascape.analysis.line_transfers import line_sums, shared_lines_of_pages
from numascape.analysis.sharing import PAGE
from numascape.findings.advice import (
    initialise_in_parallel,
    interleave_if_better,
    scatters,
    use_contiguous_parts,
)
from numascape.findings.diagnoses.shared_written import written_share
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.parts_in_pages import has_own_bytes, has_own_lines, has_regular_parts
from numascape.findings.pattern import Pattern, boundary_share
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    MAX_SHARED_LINES,
    MAX_WRITTEN_SHARE,
    MIN_BOUNDARY_SHARE,
    MIN_FALSE_SHARING,
    MIN_FOLLOWED_SHARE,
    MIN_JUDGED,
    MIN_WRITERS,
    sureness,
)
from numascape.quantities import counted, percent
from numascape.trace.format import PAGE_BYTES, PAGE_LINES

_TOGETHER = (
    "Put the parts of one thread together, so that they fill whole pages: divide the work along "
    "the outer dimension, allocate one block for each thread, or round each part up to a multiple "
    f"of {PAGE_BYTES} bytes."
)


_SHARING = (Pattern.SHARED, Pattern.GROUPS, Pattern.CHANGING)


def diagnose_by_lines(subject: Subject) -> Finding | None:
    """The finding for parts of any length, if the trace has the cache lines that threads share.

    Counts of pages do not distinguish parts of several threads in a page from data that they share.
    """
    if subject.pattern in (Pattern.ONE_THREAD, Pattern.SPLIT):
        return None
    shared = shared_lines(subject)
    if shared is None or shared > MAX_SHARED_LINES:
        return None
    several = boundary_share(subject.use)
    return Finding(
        kind=Kind.PAGE_FALSE_SHARING,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            f"{percent(several)} of the accesses go to pages that several threads use. But only "
            f"{percent(shared)} of the cache lines of these pages have more than one user, so each "
            "thread uses its own parts of a page. The page can be local to only one of the threads."
        ),
        fixes=(Fix(_TOGETHER, Remedy.DIVIDED), interleave_if_better(subject)),
        evidence=(
            Evidence("accesses to pages with several users", several, "share"),
            Evidence("lines of these pages that several threads use", shared, "share"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(MAX_SHARED_LINES - shared, 0.0, MAX_SHARED_LINES),
        place=subject.used_at,
        nearer=subject.foreign,
    )


def shared_lines(subject: Subject) -> float | None:
    """Share of the lines that several threads use, on pages that several threads write.

    Pages are weighted by their accesses. None if lines were not recorded, or if most accesses of
    the work go to other pages.
    """
    trace = subject.run.trace
    if trace.transfers.is_empty():
        return None
    pages = subject.rows.group_by(PAGE).agg(
        count=(pl.col("reads") + pl.col("writes")).sum(),
        writers=pl.col("thread").filter(pl.col("writes") > 0).n_unique(),
    )
    written = pages.filter(pl.col("writers") >= MIN_WRITERS)
    if int(written["count"].sum()) < MIN_FOLLOWED_SHARE * int(pages["count"].sum()):
        return None
    own = trace.transfers.filter(pl.col("structure") == subject.structure)
    known = written.join(shared_lines_of_pages(own), on=PAGE, how="left")
    weighted = known["count"] * known["shared_lines"].fill_null(0)
    return float(weighted.sum()) / float(known["count"].sum()) / PAGE_LINES


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if subject.pattern is Pattern.PARTS_IN_TURN:
        return _in_turn(subject)
    if has_regular_parts(subject) and not _share_bytes(subject):
        return _in_each_page(subject)
    if subject.pattern in _SHARING and has_own_bytes(subject):
        return _on_own_bytes(subject)
    own = subject.pattern in _SHARING and has_own_lines(subject)
    if own and not _reads_once_at_random(subject):
        return _on_own_lines(subject)
    if subject.pattern is not Pattern.PARTS_SHARE_PAGES:
        return None
    use = subject.use
    shared = boundary_share(use)
    part = subject.touched_bytes // len(use.threads)
    padded = -(-max(1, part) // PAGE_BYTES) * PAGE_BYTES
    cost = (padded - part) * len(use.threads)
    return Finding(
        kind=Kind.PAGE_FALSE_SHARING,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            f"Each thread works on a contiguous part of about {part} bytes. "
            f"{percent(shared)} of the accesses go to pages that hold parts of several threads. "
            "Such a page can be local to only one of these threads."
        ),
        fixes=(
            Fix(
                f"Start each thread's part on its own page: align the allocation to {PAGE_BYTES} "
                f"bytes and round each part up to {padded} bytes ({cost} bytes more), or "
                "allocate each part separately.",
                Remedy.USERS,
            ),
            Fix(initialise_in_parallel(subject)),
            interleave_if_better(subject),
        ),
        evidence=(
            Evidence("accesses to pages with several users", shared, "share"),
            Evidence("length of a part", part, "bytes"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(shared, MIN_BOUNDARY_SHARE, 0.9),
        place=subject.used_at,
        nearer=subject.foreign,
    )


def _reads_once_at_random(subject: Subject) -> bool:
    """Whether each entry has one reader only because it is read once, by any thread.

    A breadth-first search reads the edges of each vertex once, in any thread.
    """
    return subject.looked_up and written_share(subject) <= MAX_WRITTEN_SHARE


def _share_bytes(subject: Subject) -> bool:
    """Whether threads only read the structure, or use the same bytes of its lines, if known."""
    if written_share(subject) <= MAX_WRITTEN_SHARE:
        return True
    if shared_lines(subject) is None:
        return False
    transfers = subject.run.trace.transfers
    sums = line_sums(transfers.filter(pl.col("structure") == subject.structure))
    return sums.judged < MIN_JUDGED or sums.false_sharing < MIN_FALSE_SHARING


def _in_turn(subject: Subject) -> Finding:
    """Each thread has many short parts, as with `schedule(static, 1)`."""
    return _by_a_rule(
        subject,
        "Threads take parts of it in turn, and each part is shorter than a page. About "
        f"{subject.use.users_per_page:.1f} threads use each page, and the next page has other "
        "users. A page can be local to only one of them.",
        0.9,
    )


def _in_each_page(subject: Subject) -> Finding:
    """All threads write each page by a rule, as with a division of rows that are one page long."""
    return _by_a_rule(
        subject,
        "All threads write each of its pages. Their shares of a page follow a rule, not chance. "
        "So each thread has its own parts, such as a quarter of each row, and these are shorter "
        "than a page. A page can be local to only one of the threads.",
        0.8,
    )


def _on_own_lines(subject: Subject) -> Finding:
    """Samples hardly ever saw two threads use the same data of a cache line."""
    overlap = subject.seen.overlap
    return _by_a_rule(
        subject,
        f"About {subject.use.users_per_page:.1f} threads use each of its pages, but not the same "
        "data. Samples saw two threads use the same data of a cache line "
        f"{counted(round(overlap.seen), 'time')}. If the threads used the whole page, samples "
        f"would have seen this {overlap.by_chance:.0f} times. So each thread has its own parts, "
        "and these are shorter than a page. A page can be local to only one of the threads.",
        0.9,
    )


def _on_own_bytes(subject: Subject) -> Finding:
    """Samples hardly ever saw two threads at the same position of any cache lines."""
    overlap = subject.seen.byte_overlap
    return _by_a_rule(
        subject,
        f"About {subject.use.users_per_page:.1f} threads use each of its pages, but each of them "
        "uses its own bytes of the cache lines. Samples saw two threads at the same position of a "
        f"line {counted(round(overlap.seen), 'time')}. If the threads used all bytes, samples "
        f"would have seen this {overlap.by_chance:.0f} times. So the elements of the threads lie "
        "side by side. A page can be local to only one of the threads, and each write takes the "
        "line from the others.",
        0.9,
    )


def _by_a_rule(subject: Subject, why: str, confidence: float) -> Finding:
    use = subject.use
    together = use_contiguous_parts(subject) if scatters(subject.schedule) else _TOGETHER
    return Finding(
        kind=Kind.PAGE_FALSE_SHARING,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=why,
        fixes=(Fix(together, Remedy.DIVIDED), interleave_if_better(subject)),
        evidence=(
            Evidence("threads that use a page", use.users_per_page, "count"),
            Evidence("share of a page's busiest thread", use.dominance, "share"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=confidence,
        place=subject.schedule.place if subject.schedule else subject.used_at,
        nearer=subject.foreign,
    )
