# SPDX-License-Identifier: Apache-2.0
"""Each page has one group of users. If no thread is in two groups, each group can get a node."""

from __future__ import annotations

from numascape.findings.advice import (
    interleave_if_better,
    interleave_pages,
    pin,
    replicate,
    use_contiguous_parts,
)
from numascape.findings.description import who_shares
from numascape.findings.diagnoses.shared_written import already_spread, written_share
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.subject import Subject
from numascape.findings.thread_groups import has_separate_groups
from numascape.findings.thresholds import MAX_WRITTEN_SHARE, MIN_FAR_SHARE


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if not subject.is_shared_by_groups or already_spread(subject):
        return None
    # If two threads share a page, the one that touched it first does half of the work.
    if not subject.far_from(MIN_FAR_SHARE):
        return None
    return Finding(
        kind=Kind.SHARED_BY_GROUPS,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_shares(subject, "and other pages have other users"),
        fixes=_fixes(subject),
        evidence=(
            Evidence("threads that use a page", subject.use.users_per_page, "count"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=0.6,
        place=subject.used_at,
        nearer=subject.foreign,
    )


def _fixes(subject: Subject) -> tuple[Fix, ...]:
    """Put each group on one node if its threads are always the same; else spread the pages.

    Data that is only read can have a copy on each node. Data that random threads look up cannot be
    divided.
    """
    copies = () if written_share(subject) > MAX_WRITTEN_SHARE else (_copy(subject),)
    divided = () if subject.looked_up else (Fix(use_contiguous_parts(subject), Remedy.DIVIDED),)
    schedule = subject.schedule
    by_time = subject.in_tasks or (schedule is not None and schedule.is_dynamic)
    if by_time or not has_separate_groups(subject.run):
        return Fix(interleave_pages(subject), Remedy.INTERLEAVED), *copies, *divided
    together = (
        "Put the threads that share pages on one node: `numascape balance` finds these groups of "
        "threads, and a plan (`numascape advise -o plan.toml`) pins them. "
    )
    local = Fix(together + pin(subject.run), Remedy.USERS)
    return local, *divided, *copies, interleave_if_better(subject)


def _copy(subject: Subject) -> Fix:
    return Fix(replicate(subject), Remedy.COPIED)
