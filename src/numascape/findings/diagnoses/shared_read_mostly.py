# SPDX-License-Identifier: Apache-2.0
"""All threads read all pages and few accesses write: interleave it, or keep a copy per node."""

from __future__ import annotations

from numascape.findings.advice import interleave_pages, replicate
from numascape.findings.description import who_shares
from numascape.findings.diagnoses.shared_written import already_spread, written_share
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MAX_EVEN_SHARE_RATIO, MAX_WRITTEN_SHARE, sureness


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if not subject.is_shared_by_all or already_spread(subject):
        return None
    written = written_share(subject)
    if written > MAX_WRITTEN_SHARE:
        return None
    threads = len(subject.threads)
    even = subject.use.evenness * threads
    return Finding(
        kind=Kind.SHARED_READ_MOSTLY,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_shares(subject, "almost only for reading" if written else "only for reading"),
        fixes=(
            Fix(interleave_pages(subject), Remedy.INTERLEAVED),
            Fix(replicate(subject), Remedy.COPIED),
        ),
        evidence=(
            Evidence("threads that use a page", subject.use.users_per_page, "count"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
            Evidence("writes in parallel work", written, "share"),
            Evidence("memory of a copy", subject.touched_bytes, "bytes"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(MAX_EVEN_SHARE_RATIO - even, 0.0, MAX_EVEN_SHARE_RATIO - 1),
        place=subject.used_at,
        nearer=subject.foreign,
    )
