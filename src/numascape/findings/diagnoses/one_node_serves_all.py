# SPDX-License-Identifier: Apache-2.0
"""Threads run on several nodes, and nearly all their accesses go to the memory of one node."""

from __future__ import annotations

import polars as pl

from numascape.analysis.ownership import Owner
from numascape.findings.diagnoses.cache_resident import is_cache_resident
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.subject import Run
from numascape.findings.thresholds import MAX_ONE_NODE_THREADS, MIN_ONE_NODE_SHARE, sureness
from numascape.quantities import percent

_NAMED = 3


def diagnose(run: Run) -> list[Finding]:
    """Return at most one finding."""
    if run.nodes is None or not run.nodes.observed:
        return []  # on another machine, this follows from the findings about structures
    # Cache-resident structures do not load the memory.
    needed = [
        subject.structure
        for subject in run.subjects
        if subject.owner is not Owner.RUNTIME and not is_cache_resident(subject)
    ]
    traffic = run.nodes.traffic(run.work.filter(pl.col("structure").is_in(needed)))
    total = float(traffic["accesses"].sum())
    if total == 0:
        return []
    to, share = _most(traffic, "node", total)
    _, from_share = _most(traffic, "thread_node", total)
    if share < MIN_ONE_NODE_SHARE or from_share > MAX_ONE_NODE_THREADS:
        return []
    there = (
        traffic.filter(pl.col("node") == to)
        .group_by("structure")
        .agg(pl.col("accesses").sum())
        .sort("accesses", "structure", descending=[True, False])
    )
    names = dict(run.trace.structures.select("structure", "name").iter_rows())
    listed = ", ".join(names[s] for s in there["structure"].head(_NAMED))
    away = float(traffic.filter(pl.col("thread_node") != to)["accesses"].sum())
    threads = run.nodes.threads.filter(pl.col("thread_node") != to)["thread"]
    nodes = traffic["thread_node"].n_unique()
    return [
        Finding(
            kind=Kind.ONE_NODE_SERVES_ALL,
            structure=None,
            name="",
            threads=tuple(int(t) for t in threads),
            why=(
                f"{percent(share)} of the accesses in parallel work go to the memory of node "
                f"{to}. Threads on {nodes} nodes make them, so this node's memory is the "
                f"bottleneck. Most of these accesses go to {listed}."
            ),
            fixes=(
                Fix(
                    "Follow the findings about these structures. Without a change to the program, "
                    "`numactl --interleave=all` spreads all of its pages over the nodes.",
                    Remedy.INTERLEAVED,
                ),
            ),
            evidence=(
                Evidence("accesses to that node's memory", share, "share"),
                Evidence("accesses by the busiest node's threads", from_share, "share"),
            ),
            figure=Figure.MACHINE,
            confidence=sureness(share, MIN_ONE_NODE_SHARE, 1.0),
            nearer=round(away),
        )
    ]


def _most(traffic: pl.DataFrame, column: str, total: float) -> tuple[int, float]:
    sums = traffic.group_by(column).agg(pl.col("accesses").sum())
    node, most = sums.sort("accesses", column, descending=[True, False]).row(0)
    return int(node), float(most) / total
