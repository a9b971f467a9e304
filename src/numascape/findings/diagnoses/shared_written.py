# SPDX-License-Identifier: Apache-2.0
"""All threads read and write all pages: interleave it, or give each thread a part."""

from __future__ import annotations

import polars as pl

from numascape.findings.advice import interleave_pages, scatters, use_contiguous_parts
from numascape.findings.description import who_shares
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.parts_in_pages import knows_lines
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    MAX_EVEN_SHARE_RATIO,
    MAX_INTERLEAVED_RATIO,
    MAX_WRITTEN_SHARE,
    MIN_INITIAL_BYTES,
    sureness,
)
from numascape.trace.counting import has_memory_lines

_LINES_TELL = (
    "If each thread has its own parts of a page, such as a quarter of each row, counts of pages "
    "cannot show it. Record with `--traffic`: the finding is then page-level false sharing."
)


_SPREAD_ALREADY = (
    "Leave its pages where they are: each thread touched instances of its own first, so they are "
    "on the nodes of all threads already, and interleaving them gains little."
)


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if not subject.is_shared_by_all or already_spread(subject):
        return None
    written = written_share(subject)
    if written <= MAX_WRITTEN_SHARE:
        return None
    even = subject.use.evenness * len(subject.threads)
    return Finding(
        kind=Kind.SHARED_WRITTEN,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=who_shares(subject, "for reading and writing"),
        fixes=_fixes(subject),
        evidence=(
            Evidence("threads that use a page", subject.use.users_per_page, "count"),
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
            Evidence("writes in the work", written, "share"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(MAX_EVEN_SHARE_RATIO - even, 0.0, MAX_EVEN_SHARE_RATIO - 1),
        place=subject.used_at,
        nearer=subject.foreign,
    )


def _fixes(subject: Subject) -> tuple[Fix, ...]:
    """Spread its pages; where a schedule clause scatters the work, change this first.

    If random threads look up entries, it depends on the data which entry a thread uses next: the
    work cannot be divided, whatever the schedule is.
    """
    fixes: tuple[Fix, ...] = (Fix(interleave_pages(subject), Remedy.INTERLEAVED),)
    if subject.own_instances:
        fixes = (Fix(_SPREAD_ALREADY),)
    if not subject.uses_single_entries:
        divide = _divide(subject)
        fixes = (divide, *fixes) if scatters(subject.schedule) else (*fixes, divide)
    trace = subject.run.trace
    lines_known = knows_lines(subject) or not trace.transfers.is_empty()
    lines_known = lines_known or has_memory_lines(trace.accesses)
    return fixes if lines_known else (*fixes, Fix(_LINES_TELL))


def _divide(subject: Subject) -> Fix:
    return Fix(use_contiguous_parts(subject), Remedy.DIVIDED)


def written_share(subject: Subject) -> float:
    """Share of writes in the work, without one write per element by the first toucher."""
    rows = subject.rows
    toucher = subject.whole.first_toucher
    writes = int(rows["writes"].sum())
    accesses = int(rows["reads"].sum()) + writes
    own = rows.clear() if toucher is None else rows.filter(pl.col("thread") == toucher)
    initial = int(own["writes"].sum())
    if initial * MIN_INITIAL_BYTES <= subject.touched_bytes:
        writes, accesses = writes - initial, accesses - initial
    return writes / accesses if accesses else 0.0


def already_spread(subject: Subject) -> bool:
    """Whether its work accesses all nodes equally, as with interleaved pages."""
    nodes, table = subject.run.nodes, subject.traffic
    if nodes is None or not nodes.observed:
        return False
    assert table is not None
    by_node = table.group_by("node").agg(pl.col("accesses").sum())["accesses"]
    used = table["thread_node"].n_unique()
    if len(by_node) < max(2, used):
        return False
    mean = float(by_node.sum()) / len(by_node)
    return float(by_node.max()) <= MAX_INTERLEAVED_RATIO * mean  # type: ignore[arg-type]
