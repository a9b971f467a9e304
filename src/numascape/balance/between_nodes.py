# SPDX-License-Identifier: Apache-2.0
"""Counts what goes from node to node: the messages of a mapping, and migrating tasks."""

from __future__ import annotations

import numpy as np

from numascape.balance.graph import Cores, Floats, Integers, TaskGraph
from numascape.balance.target import Target


def traffic_between(graph: TaskGraph, target: Target, mapping: Cores) -> Floats:
    """Bytes (messages, if bytes are unknown) from each node of the target to each node."""
    node = target.core_node[mapping].astype(np.int64)
    weights = graph.bytes if graph.bytes.any() else graph.count
    if not len(weights):
        weights = np.ones(graph.messages)
    return _sums(node[graph.senders], node[graph.to], weights, target.nodes)


def migrations_between(target: Target, before: Cores, after: Cores) -> Floats:
    """The number of tasks that migrate from each node to each node; the diagonal: within one."""
    node = target.core_node.astype(np.int64)
    moved = before != after
    weights = np.ones(int(moved.sum()))
    return _sums(node[before[moved]], node[after[moved]], weights, target.nodes)


def _sums(start: Integers, end: Integers, weights: Floats, nodes: int) -> Floats:
    sums: Floats = np.bincount(start * nodes + end, weights, nodes * nodes).astype(np.float64)
    return sums.reshape(nodes, nodes)
