# SPDX-License-Identifier: Apache-2.0
"""No NUMA problem was found; says why there is none."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from numascape.analysis.ownership import Owner
from numascape.findings.finding import Evidence, Figure, Finding, Kind
from numascape.findings.subject import Run
from numascape.findings.thresholds import MAX_REMOTE_SHARE, MIN_DOMINANT_SHARE
from numascape.quantities import percent
from numascape.trace.counting import knows_touches


def diagnose(run: Run, others: Sequence[Finding]) -> list[Finding]:
    """Return the finding when none of the `others` has a fix and the trace can show it."""
    if any(finding.to_do for finding in others):
        return []
    local = _local_share(run)
    if local is None and not knows_touches(run.trace):
        return []
    private = private_share(run)
    threads = sum(1 for count in _by_thread(run) if count)
    runtime = _share_of(run, Owner.RUNTIME)
    if threads < 2:
        why = "One thread makes all accesses, and its pages are on the node where it runs."
    elif local is not None and local >= 1 - MAX_REMOTE_SHARE:
        why = f"{percent(local)} of the accesses stay on the node of their thread."
    elif any(finding.kind is Kind.CACHE_RESIDENT for finding in others):
        why = "The memory that threads share is small and stays in their caches."
    elif private >= MIN_DOMINANT_SHARE:
        why = (
            f"{percent(private)} of the accesses go to pages that the same thread touched "
            "first: each thread works on local memory."
        )
    else:
        why = "No structure is shared between threads in a way that a fix would improve."
    return [
        Finding(
            kind=Kind.NO_PROBLEM,
            structure=None,
            name="",
            threads=(),
            why=f"No NUMA problem found. {why}",
            advice=(
                "Check these first: the algorithm, vectorisation, cache misses, waiting for other "
                "threads, input and output.",
            ),
            evidence=(
                Evidence("accesses by the thread that touched the page first", private, "share"),
                Evidence("threads with accesses", threads, "count"),
                Evidence("accesses to memory of runtime libraries", runtime, "share"),
            ),
            figure=Figure.STRUCTURES,
            confidence=0.9 if run.accesses else 0.5,
        )
    ]


def private_share(run: Run) -> float:
    """Share of the run's accesses that are by the first toucher of the page."""
    own = sum(facts.own_share * facts.accesses for facts in run.facts.values())
    return own / max(1, run.accesses)


def _local_share(run: Run) -> float | None:
    """Share of the work on pages on the thread's node; None if no nodes are known."""
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
