# SPDX-License-Identifier: Apache-2.0
"""Pages are not on the node of the thread that touched them first (full node, or a policy)."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.advice import pin
from numascape.findings.diagnoses.shared_written import already_spread
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    MAX_INTERLEAVED_RATIO,
    MAX_REMOTE_SHARE,
    MIN_DISPLACED_PAGES,
    MIN_DISPLACED_SHARE,
    MIN_FULL_NODE_PROBABILITY,
    MIN_ORDERED_SHARE,
    sureness,
)
from numascape.quantities import percent


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None; the nodes of pages are known only on the recorded machine."""
    nodes = subject.run.nodes
    if nodes is None or not nodes.observed or not subject.rows.height:
        return None
    pages = _pages(subject)
    if pages.is_empty():
        return None
    away = pages.filter(pl.col("node") != pl.col("thread_node"))
    share = away.height / pages.height
    if share < MIN_DISPLACED_SHARE or (subject.remote or 0.0) < MAX_REMOTE_SHARE:
        return None
    later = _touched_later(pages)
    full = later >= MIN_FULL_NODE_PROBABILITY
    if not full and (
        # If all threads use it and its pages are spread over the nodes, the displacement is no
        # problem.
        subject.pattern is Pattern.SHARED and (already_spread(subject) or _interleaved(pages))
    ):
        return None
    cause, advice = _cause(subject, full, pages)
    return Finding(
        kind=Kind.DISPLACED_PAGES,
        structure=subject.structure,
        name=subject.name,
        threads=tuple(int(t) for t in away["thread"].unique().sort()),
        why=(
            f"{percent(share)} of its pages are not on the node of the thread that touched "
            f"them first: {cause}."
        ),
        fixes=(Fix(advice, Remedy.USERS),),
        evidence=(
            Evidence("pages elsewhere than first touched", share, "share"),
            Evidence("chance that a displaced page was touched later", later, "share"),
        ),
        figure=Figure.MACHINE,
        confidence=sureness(later, MIN_FULL_NODE_PROBABILITY, 1.0) if full else 0.7,
        place=subject.touched_at,
        nearer=subject.foreign,
    )


def _cause(subject: Subject, full: bool, pages: pl.DataFrame) -> tuple[str, str]:
    if full:
        return (
            "the node's memory was full (with page cache included), so later pages went to other "
            "nodes",
            "Free page cache before the program starts: `numascape host sweep`, or `numascape run "
            "--sweep`. Or use the memory of several nodes (policy `parts` of a plan).",
        )
    if _left_behind(pages):
        return (
            "the pages of each thread are together on another node, so the thread moved after it "
            "touched them",
            pin(subject.run),
        )
    if _interleaved(pages):
        return (
            "a memory policy spreads them over the nodes",
            "Each page has its own users, so do not use `numactl --interleave`. First touch then "
            "puts the page on the node of its users.",
        )
    node = pages["node"].mode().sort()[0]
    return (
        f"most are on node {node}, because of a memory policy or because threads moved",
        "Do not use `numactl --membind` or `--preferred`, and pin the threads.",
    )


def _pages(subject: Subject) -> pl.DataFrame:
    """PAGE, thread, order, thread_node, node; of the pages for which all of these are known."""
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


def _interleaved(pages: pl.DataFrame) -> bool:
    counts = pages["node"].value_counts()["count"]
    return len(counts) > 1 and float(counts.max()) <= MAX_INTERLEAVED_RATIO * float(counts.mean())  # type: ignore[arg-type]


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
        .filter(pl.col("pages") >= MIN_DISPLACED_PAGES)
    )
    return usual["node"].n_unique() > 1 and bool((usual["together"] >= MIN_ORDERED_SHARE).all())


def _touched_later(pages: pl.DataFrame) -> float:
    """Probability that a displaced page was touched later than a local page of the same node."""
    wins = pairs = 0.0
    for part in pages.partition_by("thread_node"):
        displaced = (part["node"] != part["thread_node"]).to_numpy()
        rank = np.empty(len(displaced))
        rank[np.argsort(part["order"].to_numpy(), kind="stable")] = np.arange(len(displaced))
        count = int(displaced.sum())
        wins += float(rank[displaced].sum()) - count * (count - 1) / 2
        pairs += count * (len(displaced) - count)
    return wins / pairs if pairs else 0.5
