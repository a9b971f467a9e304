# SPDX-License-Identifier: Apache-2.0
"""All threads read all pages, and hardly anybody writes: copy it per node, or interleave it."""

from __future__ import annotations

from numascape.findings.advice import interleave, replicate
from numascape.findings.description import who_shares
from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.shared_written import already_spread, written_share
from numascape.findings.subject import Subject
from numascape.findings.thresholds import EVENLY_SHARED, READ_MOSTLY, sureness


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    if subject.pattern is not Pattern.SHARED or already_spread(subject):
        return None
    written = written_share(subject)
    if written > READ_MOSTLY:
        return None
    threads = len(subject.threads)
    even = subject.use.dominance * threads
    return Finding(
        kind=Kind.SHARED_READ,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_shares(subject, "all but never written" if written else "never written"),
        advice=(interleave(subject), replicate(subject)),
        evidence=(
            Evidence("threads that use a page", subject.use.users_per_page, "count"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
            Evidence("writes in the work", written, "share"),
            Evidence("memory of a copy", subject.touched_bytes, "bytes"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(EVENLY_SHARED - even, 0.0, EVENLY_SHARED - 1),
        place=subject.used_at,
        nearer=subject.foreign,
        remedy=Remedy.INTERLEAVED,
    )
