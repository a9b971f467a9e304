# SPDX-License-Identifier: Apache-2.0
"""Hot, but small enough for each thread's cache: where its pages are does not matter."""

from __future__ import annotations

import numpy as np

from numascape.findings.finding import Evidence, Figure, Finding, Kind
from numascape.findings.pattern import Pattern
from numascape.findings.shared_written import written_share
from numascape.findings.subject import PAGE_BYTES, WORD, Subject
from numascape.findings.thresholds import CACHE_BYTES, LEAVE, READ_MOSTLY, REUSED, SPLIT, sureness
from numascape.findings.wording import percent
from numascape.machine.wording import bytes_text


def stays_in_caches(subject: Subject) -> bool:
    """Whether each thread's part fits into its cache and is used again and again."""
    if not subject.rows.height:
        return False
    size, again = footprint(subject)
    return size <= cache_bytes(subject) and again >= REUSED


def footprint(subject: Subject) -> tuple[float, float]:
    """Bytes that a thread uses of it, and its accesses to each 8 of them; means over threads."""
    use = subject.use
    by_thread = use.counts.sum(axis=0)
    pages = (use.counts > 0).sum(axis=0).astype(float)
    sizes = np.minimum(pages * PAGE_BYTES, max(WORD, subject.touched_bytes))
    size = float(np.average(sizes, weights=by_thread))
    again = float(by_thread.sum() / (sizes.sum() / WORD))
    return size, again


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
