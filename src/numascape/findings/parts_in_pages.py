# SPDX-License-Identifier: Apache-2.0
"""Threads have contiguous parts, but so short that most pages hold the ends of several."""

from __future__ import annotations

from numascape.findings.advice import initialise_in_parallel
from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.pattern import Pattern, boundary_share
from numascape.findings.subject import PAGE_BYTES, Subject
from numascape.findings.thresholds import BOUNDARY, sureness
from numascape.findings.wording import percent


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    if subject.pattern is not Pattern.PARTS_MEET:
        return None
    use = subject.use
    shared = boundary_share(use)
    part = subject.touched_bytes // max(1, len(use.threads))
    padded = -(-max(1, part) // PAGE_BYTES) * PAGE_BYTES
    cost = (padded - part) * len(use.threads)
    return Finding(
        kind=Kind.PARTS_IN_PAGES,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            f"Each thread works on a contiguous part of about {part} bytes, and "
            f"{percent(shared)} of the accesses go to pages that hold parts of several threads: "
            "such a page can be near one of them only."
        ),
        advice=(
            f"Begin each thread's part on a page of its own: align the allocation to {PAGE_BYTES} "
            f"bytes and round each part up to {padded} bytes (costs {max(0, cost)} bytes), or "
            "allocate each part by itself.",
            initialise_in_parallel(subject),
        ),
        evidence=(
            Evidence("accesses to pages with several users", shared, "share"),
            Evidence("length of a part", part, "bytes"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(shared, BOUNDARY, 0.9),
        place=subject.used_at,
        nearer=subject.foreign,
        remedy=Remedy.USERS,
    )
