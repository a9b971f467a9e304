# SPDX-License-Identifier: Apache-2.0
"""Each page is used by some of the threads: those belong on one node."""

from __future__ import annotations

from numascape.findings.advice import contiguous_parts, pin
from numascape.findings.description import who_shares
from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.shared_written import already_spread
from numascape.findings.subject import Subject
from numascape.findings.thresholds import FOREIGN


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    if subject.pattern is not Pattern.GROUPS or already_spread(subject):
        return None
    if not subject.far_from(FOREIGN):
        return None
    together = (
        "Put the threads that share pages on one node: `numascape balance` groups them, a plan "
        "(`numascape advise -o plan.toml`) carries it out. "
    )
    return Finding(
        kind=Kind.SHARED_BY_GROUPS,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_shares(subject, "not the same ones everywhere"),
        advice=(together + pin(subject.run), contiguous_parts(subject)),
        evidence=(
            Evidence("threads that use a page", subject.use.users_per_page, "count"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=0.6,
        place=subject.used_at,
        nearer=subject.foreign,
        remedy=Remedy.USERS,
    )
