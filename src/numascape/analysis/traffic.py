# SPDX-License-Identifier: Apache-2.0
"""Accesses by the node of the thread and the node of the page, for the placement observed."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.collecting import collected
from numascape.analysis.page_index import page_index, rows_of_accesses
from numascape.trace import Trace

SEVERAL = -2
UNKNOWN = -1


def node_traffic(trace: Trace, accesses: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Sum `accesses` (rows of the trace's table) by `keys`, thread_node and page_node.

    The node of a thread that was seen on several nodes is SEVERAL, because the node of each of its
    accesses is unknown. Other unknown nodes are UNKNOWN, or the only node of the machine.
    Returns the keys, thread_node, page_node (int64) and accesses.
    """
    index = page_index(trace)
    whole = accesses is trace.accesses
    page = rows_of_accesses(trace) if whole else index.rows(accesses)
    placed = index.rows(trace.placement)
    # The last element of `nodes` stands for pages without a number (-1), which nobody used.
    unknown = _unknown_node(trace)
    nodes = np.full(index.pages.height + 1, unknown, np.int64)
    observed = trace.placement["node"].to_numpy()
    nodes[placed] = np.where(observed < 0, unknown, observed)
    nodes[-1] = unknown
    sums = (
        accesses.lazy()
        .with_columns(page_node=pl.Series(nodes[page]))
        .group_by(*{*keys, "thread"}, "page_node")
        .agg(accesses=(pl.col("reads") + pl.col("writes")).sum())
        .join(thread_nodes(trace).lazy(), on="thread", how="left")
        .group_by(*keys, "thread_node", "page_node")
        .agg(pl.col("accesses").sum())
    )
    return collected(sums, accesses.height)


def thread_nodes(trace: Trace) -> pl.DataFrame:
    """thread, thread_node: the only node that the thread was seen on, or SEVERAL, or UNKNOWN."""
    nodes = pl.col("nodes").list
    return trace.threads.select(
        "thread",
        thread_node=pl.when(nodes.n_unique() > 1)
        .then(pl.lit(SEVERAL, pl.Int64))
        .otherwise(nodes.first().cast(pl.Int64))
        .fill_null(_unknown_node(trace)),
    )


def _unknown_node(trace: Trace) -> int:
    """The node that stands for one that was not observed."""
    nodes = trace.info.machine.nodes
    return nodes[0].node if len(nodes) == 1 else UNKNOWN
