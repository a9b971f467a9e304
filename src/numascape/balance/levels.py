# SPDX-License-Identifier: Apache-2.0
"""A target with the cost of a message by level: core, shared cache, NUMA node, other nodes, hosts.

The published metric has one cost for all cores of a node. Here, each core, or each group of cores
that share their last cache, is a node of the target. All balancers then see these levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from numascape.balance.graph import Cores, Floats, no_floats
from numascape.balance.target import Target
from numascape.errors import NumascapeError
from numascape.machine import Machine

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
                f"the costs {self.core:g},{self.cache:g},{self.node:g} do not rise from core to "
                "node, or are not finite numbers from 0"
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
