# SPDX-License-Identifier: Apache-2.0
"""Variables on one thread's stack are used by others."""

from __future__ import annotations

import polars as pl

from numascape.findings.cache_resident import stays_in_caches
from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.subject import Subject
from numascape.findings.thresholds import FOREIGN, sureness
from numascape.findings.wording import percent_first, threads_text


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    facts = subject.whole
    owner = facts.first_toucher
    if owner is None or 1 - facts.own_share < FOREIGN or stays_in_caches(subject):
        return None
    users = subject.run.rows.filter(
        (pl.col("structure") == subject.structure) & (pl.col("thread") != owner)
    )
    others = tuple(int(thread) for thread in users["thread"].unique().sort())
    return Finding(
        kind=Kind.FOREIGN_STACK,
        structure=subject.structure,
        name=subject.name,
        threads=others,
        why=(
            f"{percent_first(1 - facts.own_share)} of the accesses to this stack are by "
            f"{threads_text(others)}, not by its own thread {owner}."
        ),
        advice=(
            "Give each thread a copy of what it only reads (`firstprivate` in OpenMP), and put "
            "large arrays on the heap, initialised by the threads that use them.",
        ),
        evidence=(Evidence("accesses by other threads", 1 - facts.own_share, "share"),),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(1 - facts.own_share, FOREIGN, 0.9),
        place=subject.used_at,
        nearer=round((1 - facts.own_share) * facts.accesses),
        remedy=Remedy.INTERLEAVED,
    )
