# SPDX-License-Identifier: Apache-2.0
"""Each thread works on its own pages (or one thread on all), and they are local: no action."""

from __future__ import annotations

from numascape.findings.advice import pin
from numascape.findings.description import who_touched
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MIN_DOMINANT_SHARE, sureness


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    alone = bool(subject.threads) and subject.whole.threads == 1
    if subject.whole.first_toucher is None or not (alone or subject.pattern is Pattern.SPLIT):
        return None
    if subject.own_share < MIN_DOMINANT_SHARE or (subject.remote or 0.0) > 1 - MIN_DOMINANT_SHARE:
        return None
    return Finding(
        kind=Kind.PARTITIONED,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=_whose(subject.threads[0]) if alone else who_touched(subject),
        fixes=(
            Fix(
                "No action needed. Keep each thread on the CPUs where it started. "
                f"{pin(subject.run)}"
            ),
        ),
        evidence=(
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
            Evidence("work done by the first toucher of the page", subject.own_share, "share"),
        ),
        figure=Figure.FIRST_TOUCH,
        confidence=sureness(min(subject.own_share, subject.use.dominance), MIN_DOMINANT_SHARE, 1.0),
        place=subject.used_at,
    )


def _whose(thread: int) -> str:
    return f"Only thread {thread} uses it, and it touched the pages first."
