# SPDX-License-Identifier: Apache-2.0
"""One thread touched all pages first, and several threads then work on their own parts."""

from __future__ import annotations

from numascape.findings.advice import local_parts
from numascape.findings.description import who_touched
from numascape.findings.finding import Evidence, Figure, Finding, Kind
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MIN_FAR_SHARE, MIN_SERIAL_SHARE, sureness


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    facts = subject.whole
    serial = facts.first_toucher is not None and facts.first_toucher_share >= MIN_SERIAL_SHARE
    if not serial or subject.pattern not in (Pattern.SPLIT, Pattern.PARTS_SHARE_PAGES):
        return None
    # With two threads, the one that initialised everything does half of the work itself.
    if not subject.far_from(MIN_FAR_SHARE):
        return None
    others = tuple(t for t in subject.threads if t != facts.first_toucher)
    return Finding(
        kind=Kind.SERIAL_FIRST_TOUCH,
        structure=subject.structure,
        name=subject.name,
        threads=others,
        why=who_touched(subject),
        fixes=local_parts(subject),
        evidence=(
            Evidence("pages touched first by one thread", facts.first_toucher_share, "share"),
            Evidence("work done by other threads", 1 - subject.own_share, "share"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.FIRST_TOUCH,
        confidence=sureness(facts.first_toucher_share, MIN_SERIAL_SHARE, 1.0)
        * sureness(subject.use.dominance, 0.5, 1.0),
        place=subject.touched_at,
        nearer=subject.foreign,
    )
