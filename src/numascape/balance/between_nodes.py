# SPDX-License-Identifier: Apache-2.0
"""Counts what goes from node to node: the messages of a mapping, and migrating tasks."""

from __future__ import annotations

import numpy as np

from numascape.balance.graph import Cores, Floats, Integers, TaskGraph
from numascape.balance.target import Target


def traffic_between(graph: TaskGraph, target: Target, mapping: Cores) -> Floats:
    """Bytes (messages, if bytes are unknown) from each NUMA node of the target to each."""
    node = target.numa_node[mapping]
    weights = graph.bytes if graph.bytes.any() else graph.count
    if not len(weights):
        weights = np.ones(graph.messages)
    return _sums(node[graph.senders], node[graph.to], weights, len(target.factor))


def migrations_between(target: Target, before: Cores, after: Cores) -> Floats:
    """The number of tasks that migrate from each NUMA node to each; the diagonal: within one."""
    node = target.numa_node
    moved = before != after
    weights = np.ones(int(moved.sum()))
    return _sums(node[before[moved]], node[after[moved]], weights, len(target.factor))


def _sums(start: Integers, end: Integers, weights: Floats, nodes: int) -> Floats:
    sums: Floats = np.bincount(start * nodes + end, weights, nodes * nodes).astype(np.float64)
    return sums.reshape(nodes, nodes)
