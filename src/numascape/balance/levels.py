# SPDX-License-Identifier: Apache-2.0
"""A target with the cost of a message by level: core, shared cache, NUMA node, other nodes, hosts.

The published metric has one cost for all cores of a node. Here, each core, or each group of cores
that share their last cache, is a node of the target. All balancers then see these levels. The costs
are given, or follow from measured latencies between cores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from numascape.balance.graph import Cores, Floats, TaskGraph, no_floats
from numascape.balance.target import Target
from numascape.errors import NumascapeError
from numascape.machine import Machine
from numascape.machine.core_latencies import CoreLatencies

MAX_PLACES = 4096
"""A target needs the square of its nodes as factors: 128 MiB."""


@dataclass(frozen=True)
class LevelCosts:
    """The cost of a message within a core, a shared cache, and a NUMA node.

    Messages to other nodes cost the last one times the NUMA factor.
    """

    core: float
    cache: float
    node: float

    def __post_init__(self) -> None:
        if not 0 <= self.core <= self.cache <= self.node or not 0 < self.node < float("inf"):
            raise NumascapeError(
                f"the costs {self.core:g},{self.cache:g},{self.node:g} must be finite numbers from "
                "0 that rise from core to node"
            )


def with_levels(target: Target, machine: Machine, costs: LevelCosts) -> Target:
    """The target with each core, or group of cores with one cost, as a node.

    `target` is that of the machine, of one or more hosts. Raises NumascapeError if there would be
    too many nodes.
    """
    cache = cache_of_core(target, machine)
    apart = costs.core < costs.cache
    group = np.arange(target.cores, dtype=np.uint32) if apart else cache
    places = int(group.max()) + 1
    if places > MAX_PLACES:
        raise NumascapeError(
            f"costs by level distinguish {places} cores or caches, more than {MAX_PLACES}: give "
            "fewer --hosts, or the same cost for core and cache"
        )
    first = np.unique(group, return_index=True)[1]
    node, shared = target.core_node[first].astype(np.int64), cache[first]
    factor = costs.node * target.factor[np.ix_(node, node)]
    factor[shared[:, None] == shared[None, :]] = costs.cache
    np.fill_diagonal(factor, costs.core)

    def spread(values: Floats) -> Floats:
        return values[np.ix_(node, node)] if len(values) else values

    # The memory of a node belongs to several places, so its limit is not known for one.
    return replace(
        target, core_node=group, factor=factor, latency=spread(target.latency),
        bandwidth=spread(target.bandwidth), node_memory=no_floats(),
    )  # fmt: skip


def cache_of_core(target: Target, machine: Machine) -> Cores:
    """The number of each core's group: the cores of its node that share its last cache.

    Where the machine does not know its caches, all cores of a node are one group.
    """
    shared = [c for c in machine.caches if c.kind in ("unified", "data")]
    last = max((cache.level for cache in shared), default=0)
    of_cpu = {
        cpu: number
        for cache in shared
        if cache.level == last
        for number, group in enumerate(cache.groups)
        for cpu in group
    }
    numbers: dict[tuple[int, int], int] = {}
    found = [
        numbers.setdefault((int(node), of_cpu.get(cpu, -1)), len(numbers))
        for node, cpu in zip(target.core_node, target.cpus, strict=True)
    ]
    return np.array(found, np.uint32)


def measured_costs(
    target: Target, machine: Machine, latencies: CoreLatencies
) -> tuple[Target, LevelCosts]:
    """The target of one host with measured factors between its nodes, and the costs by level.

    Each is the median of the pairs of cores of its kind, in units of the quickest level. A message
    within a core moves no cache line, so it costs nothing. Where no pair was measured, a level
    costs as much as the one below it, and nodes keep their factors. Raises NumascapeError if
    the latencies are not those of the machine.
    """
    ns = _by_core(target, latencies)
    cache = cache_of_core(target, machine)
    node = target.core_node.astype(np.int64)
    same_node = node[:, None] == node[None, :]
    same_cache = cache[:, None] == cache[None, :]
    near, far = _median(ns[same_cache]), _median(ns[same_node & ~same_cache])
    if near is None and far is None:
        raise NumascapeError("the latencies have no pair of cores of one node")
    within = far or near or 1.0
    quickest = min(near or within, within)
    costs = LevelCosts(0.0, (near or within) / quickest, within / quickest)
    factor = target.factor.copy()
    for i in range(target.nodes):
        for j in range(target.nodes):
            between = _median(ns[np.ix_(node == i, node == j)]) if i != j else None
            if between is not None:
                factor[i, j] = max(1.0, between / within)
    return replace(target, factor=factor), costs


def _by_core(target: Target, latencies: CoreLatencies) -> Floats:
    """The latencies in the order of the target's cores."""
    place = {cpu: i for i, cpu in enumerate(latencies.cpus)}
    missing = [cpu for cpu in target.cpus if cpu not in place]
    if missing:
        raise NumascapeError(
            f"the latencies between cores have no CPU {missing[0]}, which {target.name} has: "
            "measure that machine (numascape machine cores)"
        )
    order = np.array([place[cpu] for cpu in target.cpus])
    ordered: Floats = latencies.ns[np.ix_(order, order)]
    return ordered


def _median(values: npt.NDArray[np.float64]) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def messages_by_level(
    graph: TaskGraph, mapping: Cores, target: Target, machine: Machine, hosts: int
) -> dict[str, float]:
    """The share of messages within a core, a shared cache, a node, a host, and between hosts.

    `target` is that of the hosts before with_levels. A message counts at the closest level only.
    """
    count = graph.count if len(graph.count) else np.ones(graph.messages)
    a, b = mapping[graph.senders].astype(np.int64), mapping[graph.to].astype(np.int64)
    cache, host = cache_of_core(target, machine), np.arange(target.cores) * hosts // target.cores
    groups = (np.arange(target.cores), cache, target.core_node, host)
    shares, seen, total = {}, 0.0, float(count.sum())
    for name, group in zip(("core", "cache", "node", "host"), groups, strict=True):
        inside = float(count[group[a] == group[b]].sum()) / total if total else 0.0
        shares[name] = max(0.0, inside - seen)
        seen = max(seen, inside)
    return {**shares, "hosts": max(0.0, 1.0 - seen) if total else 0.0}
