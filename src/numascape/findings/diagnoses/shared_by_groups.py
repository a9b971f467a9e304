# SPDX-License-Identifier: Apache-2.0
"""A group of threads uses each page. The threads of a group should run on one node."""

from __future__ import annotations

from numascape.findings.advice import contiguous_parts, interleave_if_better, pin
from numascape.findings.description import who_shares
from numascape.findings.diagnoses.shared_written import already_spread
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MIN_FOREIGN_SHARE


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if subject.pattern is not Pattern.GROUPS or already_spread(subject):
        return None
    if not subject.far_from(MIN_FOREIGN_SHARE):
        return None
    together = (
        "Put the threads that share pages on one node: `numascape balance` finds these groups of "
        "threads, and a plan (`numascape advise -o plan.toml`) pins them. "
    )
    return Finding(
        kind=Kind.SHARED_BY_GROUPS,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_shares(subject, "and other pages have other users"),
        fixes=(
            Fix(together + pin(subject.run), Remedy.USERS),
            Fix(contiguous_parts(subject), Remedy.DIVIDED),
            interleave_if_better(subject),
        ),
        evidence=(
            Evidence("threads that use a page", subject.use.users_per_page, "count"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=0.6,
        place=subject.used_at,
        nearer=subject.foreign,
    )
