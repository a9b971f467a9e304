# SPDX-License-Identifier: Apache-2.0
"""Pages were touched first by other threads than the ones that work on them."""

from __future__ import annotations

from numascape.findings.advice import initialise_by, initialise_in_parallel, pin
from numascape.findings.description import who_touched
from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import FOREIGN, SERIAL, SPLIT, sureness


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    facts = subject.whole
    if facts.first_toucher is None or not subject.far_from(1 - SPLIT):
        return None
    advice: tuple[str, ...]
    if subject.pattern is Pattern.ONE_THREAD:
        if not subject.threads or not subject.far_from(FOREIGN):
            return None
        advice = (initialise_by(subject, subject.threads[0]),)
    elif subject.pattern in (Pattern.SPLIT, Pattern.PARTS_MEET):
        if facts.first_toucher_share >= SERIAL:
            return None
        advice = (initialise_in_parallel(subject), pin(subject.run))
    else:
        return None
    return Finding(
        kind=Kind.FOREIGN_FIRST_TOUCH,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_touched(subject),
        advice=advice,
        evidence=(
            Evidence("work done by others than the first toucher", 1 - subject.own_share, "share"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.FIRST_TOUCH,
        confidence=sureness(1 - subject.own_share, 1 - SPLIT, 1.0),
        place=subject.touched_at,
        nearer=subject.foreign,
        remedy=Remedy.USERS,
    )
