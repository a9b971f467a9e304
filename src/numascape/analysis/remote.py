# SPDX-License-Identifier: Apache-2.0
"""Accesses to pages on other nodes, and to pages that other threads touched first."""

from __future__ import annotations

import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.trace import Trace


def remote_accesses(trace: Trace) -> pl.DataFrame:
    """One row for each structure and node of its pages: structure, node, accesses, remote.

    Only pages and threads whose nodes are known count. The accesses of a thread that was seen on
    several nodes are divided evenly among these nodes, so `remote` is a float.
    """
    seen = trace.threads.lazy().select("thread", own=pl.col("nodes").list.unique())
    seen = seen.filter(pl.col("own").list.len() > 0)
    placed = trace.placement.lazy().filter(pl.col("node") >= 0)
    here = pl.col("own").list.contains(pl.col("node").cast(pl.UInt32))
    away = 1.0 - here.cast(pl.Float64) / pl.col("own").list.len()
    return (
        trace.accesses.lazy()
        .join(placed.unique(PAGE), on=PAGE)
        .group_by("structure", "thread", "node")
        .agg(accesses=(pl.col("reads") + pl.col("writes")).sum())
        .join(seen, on="thread")
        .group_by("structure", "node")
        .agg(pl.col("accesses").sum(), remote=(pl.col("accesses") * away).sum())
        .sort("structure", "node")
        .collect()
    )


def foreign_accesses(trace: Trace) -> pl.DataFrame:
    """structure, accesses, foreign: accesses to pages whose first toucher is known.

    `foreign` counts those by other threads than the first toucher. If threads stay on the node
    where they touched their pages, only foreign accesses can be remote. They are known even on a
    machine with one node.
    """
    touched = trace.first_touch.lazy().select(*PAGE, toucher="thread").unique(PAGE)
    accesses = pl.col("reads") + pl.col("writes")
    return (
        trace.accesses.lazy()
        .join(touched, on=PAGE)
        .group_by("structure")
        .agg(
            accesses=accesses.sum(),
            foreign=accesses.filter(pl.col("thread") != pl.col("toucher")).sum(),
        )
        .sort("structure")
        .collect()
    )
