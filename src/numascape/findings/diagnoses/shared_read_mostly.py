# SPDX-License-Identifier: Apache-2.0
"""All threads read all pages and few accesses write: interleave it, or keep a copy per node."""

from __future__ import annotations

from numascape.findings.advice import interleave_pages, replicate
from numascape.findings.description import at, who_shares
from numascape.findings.diagnoses.shared_written import already_spread, written_share
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.page_use import PageUse, page_use
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MAX_EVEN_SHARE_RATIO, MAX_WRITTEN_SHARE, sureness
from numascape.quantities import percent


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if already_spread(subject):
        return None
    if subject.last_read is not None:
        return _finding(subject, page_use(subject.last_read), 0.0, _looked_up(subject))
    written = written_share(subject)
    if not subject.is_shared_by_all or written > MAX_WRITTEN_SHARE:
        return None
    how = "almost only for reading" if written else "only for reading"
    return _finding(subject, subject.use, written, who_shares(subject, how))


def _looked_up(subject: Subject) -> str:
    """Who looks up what other threads built."""
    facts = subject.whole
    return (
        "Threads that are created later read all of its pages, and do not write it. The threads "
        f"before them built it. Thread {facts.first_toucher} touched "
        f"{percent(facts.first_toucher_share)} of the pages first{at(subject.touched_at)}."
    )


def _finding(subject: Subject, use: PageUse, written: float, why: str) -> Finding:
    even = use.evenness * len(use.threads)
    return Finding(
        kind=Kind.SHARED_READ_MOSTLY,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=why,
        fixes=(
            Fix(interleave_pages(subject), Remedy.INTERLEAVED),
            Fix(replicate(subject), Remedy.COPIED),
        ),
        evidence=(
            Evidence("threads that use a page", use.users_per_page, "count"),
            Evidence("share of a page's busiest thread", use.dominance, "share"),
            Evidence("writes in parallel work", written, "share"),
            Evidence("memory of a copy", subject.touched_bytes, "bytes"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(MAX_EVEN_SHARE_RATIO - even, 0.0, MAX_EVEN_SHARE_RATIO - 1),
        place=subject.used_at,
        nearer=subject.foreign,
    )
