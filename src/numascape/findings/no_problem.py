# SPDX-License-Identifier: Apache-2.0
"""NUMA is not the problem, and why not."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from numascape.analysis.ownership import Owner
from numascape.findings.finding import Evidence, Figure, Finding, Kind
from numascape.findings.subject import Run
from numascape.findings.thresholds import REMOTE, SPLIT
from numascape.findings.wording import percent_first
from numascape.trace.counting import knows_touches


def diagnose(run: Run, others: Sequence[Finding]) -> list[Finding]:
    """The finding, when none of the `others` has anything to do, and that can be said."""
    if any(finding.to_do for finding in others):
        return []
    local = _local_share(run)
    if local is None and not knows_touches(run.trace):
        return []
    private = private_share(run)
    threads = sum(1 for count in _by_thread(run) if count)
    runtime = _share_of(run, Owner.RUNTIME)
    if threads < 2:
        why = "One thread makes all accesses, and its pages are where it runs."
    elif local is not None and local >= 1 - REMOTE:
        why = f"{percent_first(local)} of the accesses stay on the node of their thread."
    elif any(finding.kind is Kind.CACHE_RESIDENT for finding in others):
        why = "What threads share is small and stays in their caches; the rest is their own."
    elif private >= SPLIT:
        why = (
            f"{percent_first(private)} of the accesses go to pages that the same thread touched "
            "first: each thread works near its own memory."
        )
    else:
        why = "Nothing that would be worth the effort is shared between threads."
    return [
        Finding(
            kind=Kind.NO_PROBLEM,
            structure=None,
            name="",
            threads=(),
            why=f"NUMA is not your problem. {why}",
            advice=(
                "Look elsewhere first: the algorithm, vectorisation, cache misses, waiting for "
                "other threads or for input and output.",
            ),
            evidence=(
                Evidence("accesses by the thread that touched the page first", private, "share"),
                Evidence("threads with accesses", threads, "count"),
                Evidence("accesses to memory of libraries", runtime, "share"),
            ),
            figure=Figure.STRUCTURES,
            confidence=0.9 if run.accesses else 0.5,
        )
    ]


def private_share(run: Run) -> float:
    """Share of the run's accesses by the page's first toucher."""
    own = sum(facts.own_share * facts.accesses for facts in run.facts.values())
    return own / max(1, run.accesses)


def _local_share(run: Run) -> float | None:
    """Share of the work whose pages are on the thread's node; None where no nodes are known."""
    if run.nodes is None:
        return None
    traffic = run.nodes.traffic(run.work)
    total = float(traffic["accesses"].sum())
    local = traffic.filter(pl.col("thread_node") == pl.col("node"))["accesses"].sum()
    return float(local) / total if total else None


def _by_thread(run: Run) -> list[int]:
    count = (pl.col("reads") + pl.col("writes")).sum()
    sums = run.trace.accesses.group_by("thread").agg(count=count)
    return [int(count) for count in sums["count"]]


def _share_of(run: Run, owner: Owner) -> float:
    count = sum(f.accesses for s, f in run.facts.items() if run.owners[s] is owner)
    return count / max(1, run.accesses)
