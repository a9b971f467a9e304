# SPDX-License-Identifier: Apache-2.0
"""The traffic between nodes of a report."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.page_columns import Column
from numascape.analysis.traffic import node_traffic, thread_nodes
from numascape.report.access_paths import MeasuredPaths, remote_by_path
from numascape.report.data import Traffic
from numascape.trace import Trace

NODES = 128
"""Maximum number of nodes that a report distinguishes; nodes with larger numbers count as
unknown."""


def measure_traffic(
    trace: Trace,
    by_phase: pl.DataFrame,
    position: pl.Series,
    structures: int,
    phases: int,
    paths: MeasuredPaths | None = None,
) -> Traffic:
    """Measure the traffic; `by_phase` is the trace's accesses with the positions of phases.

    `position` is the position of each structure among the shown `structures`, or null. `paths` are
    the call paths of the accesses, if they are known.
    """
    sums = node_traffic(trace, by_phase, ["structure", "phase", "thread"])
    seen = {int(node) for column in ("thread_node", "page_node") for node in sums[column].unique()}
    every = {node.node for node in trace.info.machine.nodes} | {node for node in seen if node >= 0}
    nodes = sorted(every)[:NODES]
    index = {node: i for i, node in enumerate(nodes)}

    def indexed(column: str) -> pl.Expr:
        return pl.col(column).replace_strict(
            list(index), list(index.values()), default=len(nodes), return_dtype=pl.UInt32
        )

    table = sums.with_columns(
        local=(pl.col("thread_node") == pl.col("page_node")) & (pl.col("thread_node") >= 0),
        known=(pl.col("thread_node") >= 0) & (pl.col("page_node") >= 0),
        thread_node=indexed("thread_node"),
        page_node=indexed("page_node"),
        position=position.gather(sums["structure"]),
    )
    width = len(nodes) + 1
    matrix = np.zeros((phases, width, width), np.uint64)
    where = tuple(table[name].to_numpy() for name in ("phase", "thread_node", "page_node"))
    np.add.at(matrix, where, table["accesses"].to_numpy())
    local = table.filter("local")
    remote = table.filter(pl.col("known") & ~pl.col("local"))
    by_structure, by_thread = (structures, phases), (trace.threads.height, phases)
    return Traffic(
        nodes=tuple(nodes),
        thread_node=_indices(thread_nodes(trace)["thread_node"], index),
        accesses=matrix.ravel(),
        local=_sums(local, "position", by_structure),
        remote=_sums(remote, "position", by_structure),
        thread_local=_sums(local, "thread", by_thread),
        thread_remote=_sums(remote, "thread", by_thread),
        path_remote=remote_by_path(trace, paths),
    )


def _indices(nodes: pl.Series, index: dict[int, int]) -> Column:
    found = [index.get(node, len(index)) for node in nodes.to_list()]
    return np.array(found, np.uint32)


def _sums(table: pl.DataFrame, by: str, shape: tuple[int, int]) -> Column:
    """Accesses by `by` and phase."""
    summed = np.zeros(shape, np.uint64)
    known = table.filter(pl.col(by).is_not_null())
    where = (known[by].to_numpy(), known["phase"].to_numpy())
    np.add.at(summed, where, known["accesses"].to_numpy())
    return summed.ravel()
