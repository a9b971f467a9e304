# SPDX-License-Identifier: Apache-2.0
"""One thread touched all pages first, and several threads then work on parts of their own."""

from __future__ import annotations

from numascape.findings.advice import initialise_in_parallel, pin
from numascape.findings.description import who_touched
from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import FOREIGN, SERIAL, sureness


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    facts = subject.whole
    serial = facts.first_toucher is not None and facts.first_toucher_share >= SERIAL
    if not serial or subject.pattern not in (Pattern.SPLIT, Pattern.PARTS_MEET):
        return None
    # Of two threads, the one that initialised everything does half of the work itself.
    if not subject.far_from(FOREIGN / 2):
        return None
    others = tuple(t for t in subject.threads if t != facts.first_toucher)
    return Finding(
        kind=Kind.SERIAL_FIRST_TOUCH,
        structure=subject.structure,
        name=subject.name,
        threads=others,
        why=who_touched(subject),
        advice=(initialise_in_parallel(subject), pin(subject.run)),
        evidence=(
            Evidence("pages touched first by one thread", facts.first_toucher_share, "share"),
            Evidence("work done by other threads", 1 - subject.own_share, "share"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.FIRST_TOUCH,
        confidence=sureness(facts.first_toucher_share, SERIAL, 1.0)
        * sureness(subject.use.dominance, 0.5, 1.0),
        place=subject.touched_at,
        nearer=subject.foreign,
        remedy=Remedy.USERS,
    )
