# SPDX-License-Identifier: Apache-2.0
"""Hot, but small enough for each thread's cache: where its pages are does not matter."""

from __future__ import annotations

import numpy as np

from numascape.analysis.ownership import Owner
from numascape.findings.finding import Evidence, Figure, Finding, Kind
from numascape.findings.pattern import Pattern
from numascape.findings.shared_written import written_share
from numascape.findings.subject import LINES, PAGE_BYTES, WORD, Subject
from numascape.findings.thresholds import (
    AS_HOT,
    CACHE_BYTES,
    FEW_LINES,
    LEAVE,
    LITTLE,
    READ_MOSTLY,
    REUSED,
    SPLIT,
    sureness,
)
from numascape.findings.wording import percent
from numascape.machine.wording import bytes_text


def stays_in_caches(subject: Subject) -> bool:
    """Whether each thread's part stays in its cache and is used again and again.

    Where the lines that came from memory were counted, they say it. Otherwise a cache is taken to
    hold what is used most often, and of what is used about as often either all or nothing; what is
    far smaller than that brings hardly any line from memory, either way.
    """
    if not subject.rows.height:
        return False
    if LINES in subject.rows.columns:
        return int(subject.rows[LINES].sum()) <= FEW_LINES * subject.working
    size, again = footprint(subject)
    if again < REUSED:
        return False
    hotter = (
        footprint(other)
        for other in subject.run.subjects
        if other is not subject and other.owner is Owner.PROGRAM and len(other.threads) > 1
    )
    beside = sum(bytes_ for bytes_, often in hotter if often * AS_HOT > again)
    return size + beside <= cache_bytes(subject) or size <= LITTLE * beside


def footprint(subject: Subject) -> tuple[float, float]:
    """Bytes that a thread uses of it, and its accesses to each 8 of them; means over threads."""
    if not subject.rows.height:
        return 0.0, 0.0
    use = subject.use
    by_thread = use.counts.sum(axis=0)
    pages = (use.counts > 0).sum(axis=0).astype(float)
    sizes = np.minimum(pages * PAGE_BYTES, max(WORD, subject.touched_bytes))
    size = float(np.average(sizes, weights=by_thread))
    return size, float(by_thread.sum() / (sizes.sum() / WORD))


def cache_bytes(subject: Subject) -> float:
    """Half of a core's second-level cache on the machine in question."""
    nodes = subject.run.nodes
    caches = nodes.machine.caches if nodes else ()
    own = [c.bytes / 2 for c in caches if c.level == 2 and c.kind in ("data", "unified")]
    return min(own, default=float(CACHE_BYTES))


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    if (
        subject.share < LEAVE
        or subject.pattern is Pattern.ONE_THREAD
        or not stays_in_caches(subject)
    ):
        return None
    if subject.pattern is Pattern.SPLIT and subject.own_share >= SPLIT:
        return None
    size, again = footprint(subject)
    written = written_share(subject)
    advice = "Leave it: after the first access its lines are in the caches."
    if written > READ_MOSTLY and subject.pattern is not Pattern.SPLIT:
        advice = (
            "Placing its pages changes nothing, because its lines are in caches. As several "
            "threads write it, lines move between caches: give each thread a copy (OpenMP: "
            "reduction, private), or 64 bytes of its own for each part."
        )
    return Finding(
        kind=Kind.CACHE_RESIDENT,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            f"It has {percent(subject.share)} of the run's accesses, but a thread uses only "
            f"{bytes_text(round(size))} of it, {again:.0f} times over: they stay in its cache."
        ),
        advice=(advice,),
        evidence=(
            Evidence("bytes that a thread uses", size, "bytes"),
            Evidence("accesses to each 8 bytes", again, "count"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(cache_bytes(subject) / max(size, 1.0), 1.0, 4.0),
        place=subject.used_at,
    )
