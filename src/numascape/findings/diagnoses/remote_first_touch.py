# SPDX-License-Identifier: Apache-2.0
"""The threads that touched the pages first are not the threads that work on them."""

from __future__ import annotations

from numascape.findings.advice import initialise_by, local_parts
from numascape.findings.description import who_touched
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    MIN_DOMINANT_SHARE,
    MIN_FOREIGN_SHARE,
    MIN_SERIAL_SHARE,
    sureness,
)


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    facts = subject.whole
    if facts.first_toucher is None or not subject.far_from(1 - MIN_DOMINANT_SHARE):
        return None
    fixes: tuple[Fix, ...]
    if subject.pattern is Pattern.ONE_THREAD:
        if not subject.threads or not subject.far_from(MIN_FOREIGN_SHARE):
            return None
        fixes = (Fix(initialise_by(subject, subject.threads[0]), Remedy.USERS),)
    elif subject.pattern in (Pattern.SPLIT, Pattern.PARTS_SHARE_PAGES):
        if facts.first_toucher_share >= MIN_SERIAL_SHARE:
            return None
        fixes = local_parts(subject)
    else:
        return None
    return Finding(
        kind=Kind.REMOTE_FIRST_TOUCH,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_touched(subject),
        fixes=fixes,
        evidence=(
            Evidence("work not done by the first toucher", 1 - subject.own_share, "share"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.FIRST_TOUCH,
        confidence=sureness(1 - subject.own_share, 1 - MIN_DOMINANT_SHARE, 1.0),
        place=subject.touched_at,
        nearer=subject.foreign,
    )
