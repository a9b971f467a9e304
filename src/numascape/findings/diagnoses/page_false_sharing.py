# SPDX-License-Identifier: Apache-2.0
"""Threads have contiguous parts that are so short that most pages hold parts of several threads."""

from __future__ import annotations

from numascape.findings.advice import initialise_in_parallel, interleave_if_better
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.pattern import Pattern, boundary_share
from numascape.findings.subject import PAGE_BYTES, Subject
from numascape.findings.thresholds import MIN_BOUNDARY_SHARE, sureness
from numascape.quantities import percent


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if subject.pattern is not Pattern.PARTS_MEET:
        return None
    use = subject.use
    shared = boundary_share(use)
    part = subject.touched_bytes // max(1, len(use.threads))
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
            "Such a page can be local to only one of them."
        ),
        fixes=(
            Fix(
                f"Start each thread's part on its own page: align the allocation to {PAGE_BYTES} "
                f"bytes and round each part up to {padded} bytes ({max(0, cost)} bytes more), or "
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
