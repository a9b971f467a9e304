# SPDX-License-Identifier: Apache-2.0
"""Pages are not on the node of the thread that touched them first: it was full, or told so."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.advice import pin
from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.shared_written import already_spread
from numascape.findings.subject import Subject
from numascape.findings.thresholds import DEALT, DISPLACED, FULL, ORDERLY, REMOTE, TELLING, sureness
from numascape.findings.wording import percent_first


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not. Where pages lay is known of the recorded machine only."""
    nodes = subject.run.nodes
    if nodes is None or not nodes.observed or not subject.rows.height:
        return None
    pages = _pages(subject)
    if pages.is_empty():
        return None
    away = pages.filter(pl.col("node") != pl.col("thread_node"))
    share = away.height / pages.height
    if share < DISPLACED or (subject.remote or 0.0) < REMOTE:
        return None
    later = _touched_later(pages)
    full = later >= FULL
    if not full and (
        # All threads use it: then it is well spread over the nodes, by whatever policy.
        subject.pattern is Pattern.SHARED and (already_spread(subject) or _dealt(pages))
    ):
        return None
    cause, advice = _cause(subject, full, pages)
    return Finding(
        kind=Kind.DISPLACED_PAGES,
        structure=subject.structure,
        name=subject.name,
        threads=tuple(int(t) for t in away["thread"].unique().sort()),
        why=(
            f"{percent_first(share)} of its pages are not on the node of the thread that touched "
            f"them first: {cause}."
        ),
        advice=(advice,),
        evidence=(
            Evidence("pages elsewhere than first touched", share, "share"),
            Evidence("chance that a displaced page was touched later", later, "share"),
        ),
        figure=Figure.MACHINE,
        confidence=sureness(later, FULL, 1.0) if full else 0.7,
        place=subject.touched_at,
        nearer=subject.foreign,
        remedy=Remedy.USERS,
    )


def _cause(subject: Subject, full: bool, pages: pl.DataFrame) -> tuple[str, str]:
    if full:
        return (
            "the later ones went elsewhere, as the node's memory was full (page cache counts)",
            "Make room before the program starts: `numascape host sweep`, or `numascape run "
            "--sweep`; or use memory of several nodes on purpose (policy `parts` of a plan).",
        )
    if _left_behind(pages):
        return (
            "each thread's are together on another node, so it must have moved after it touched "
            "them",
            pin(subject.run),
        )
    if _dealt(pages):
        return (
            "a policy spreads them over the nodes",
            "Each page has a thread of its own: leave out `numactl --interleave`, so that first "
            "touch puts it near.",
        )
    node = pages["node"].mode().sort()[0]
    return (
        f"most are on node {node}, by a policy or because threads moved",
        "Leave out `numactl --membind` or `--preferred` if it is there, and pin the threads.",
    )


def _pages(subject: Subject) -> pl.DataFrame:
    """PAGE, thread, order, thread_node, node of the pages for which all of that is known."""
    nodes = subject.run.nodes
    assert nodes is not None
    trace = subject.run.trace
    own = pl.col("structure") == subject.structure
    return (
        trace.first_touch.filter(own)
        .select(*PAGE, "thread", "order")
        .join(trace.placement.filter(own, pl.col("node") >= 0).unique(PAGE), on=PAGE)
        .join(nodes.threads, on="thread")
    )


def _dealt(pages: pl.DataFrame) -> bool:
    counts = pages["node"].value_counts()["count"]
    return len(counts) > 1 and float(counts.max()) <= DEALT * float(counts.mean())  # type: ignore[arg-type]


def _left_behind(pages: pl.DataFrame) -> bool:
    """Whether each thread's displaced pages are on one node, and not on the same one for all."""
    away = pages.filter(pl.col("node") != pl.col("thread_node"))
    usual = (
        away.group_by("thread")
        .agg(
            node=pl.col("node").mode().min(),
            together=pl.col("node").unique_counts().max() / pl.len(),
            pages=pl.len(),
        )
        .filter(pl.col("pages") >= TELLING)
    )
    return usual["node"].n_unique() > 1 and bool((usual["together"] >= ORDERLY).all())


def _touched_later(pages: pl.DataFrame) -> float:
    """Probability that a displaced page was touched after one in its place, of the same node."""
    wins = pairs = 0.0
    for part in pages.partition_by("thread_node"):
        displaced = (part["node"] != part["thread_node"]).to_numpy()
        rank = np.empty(len(displaced))
        rank[np.argsort(part["order"].to_numpy(), kind="stable")] = np.arange(len(displaced))
        count = int(displaced.sum())
        wins += float(rank[displaced].sum()) - count * (count - 1) / 2
        pairs += count * (len(displaced) - count)
    return wins / pairs if pairs else 0.5
