# SPDX-License-Identifier: Apache-2.0
"""Each thread works on pages of its own, near it: keep it so."""

from __future__ import annotations

from numascape.findings.advice import pin
from numascape.findings.description import who_touched
from numascape.findings.finding import Evidence, Figure, Finding, Kind
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import SPLIT, sureness


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    if subject.pattern is not Pattern.SPLIT or subject.whole.first_toucher is None:
        return None
    if subject.own_share < SPLIT or (subject.remote or 0.0) > 1 - SPLIT:
        return None
    return Finding(
        kind=Kind.PARTITIONED,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_touched(subject),
        advice=(f"Well placed: keep each thread on the CPUs where it started. {pin(subject.run)}",),
        evidence=(
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
            Evidence("work done by the first toucher of the page", subject.own_share, "share"),
        ),
        figure=Figure.FIRST_TOUCH,
        confidence=sureness(min(subject.own_share, subject.use.dominance), SPLIT, 1.0),
        place=subject.used_at,
    )
