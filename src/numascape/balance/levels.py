# SPDX-License-Identifier: Apache-2.0
"""A target with the cost of a message by level: core, shared caches, NUMA node, package, hosts.

The published metric has one cost for all cores of a node. Here, each core, or each group of cores
with one cost, is a node of the target. All balancers then see these levels. The levels are those of
the machine's topology (place_levels.py). The costs are given, or follow from measured latencies
between cores, or are assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape.balance.graph import Floats, Integers, no_floats
from numascape.balance.place_levels import BETWEEN_HOSTS, CORE, NODE, PlaceLevel, common_level
from numascape.balance.target import Inner, Target
from numascape.errors import NumascapeError
from numascape.machine.core_latencies import CoreLatencies

MAX_PLACES = 16384
"""For each task, a search adds up the costs of its messages on every place."""
_STEP: Final = 2.0
"""It is assumed that a message costs twice as much as on the next finer level. Published latencies
between cores rise 1.3 to 5 times from a level to the next."""


@dataclass(frozen=True)
class LevelCosts:
    """The cost of a message by the name of the closest level that sender and receiver share.

    The cost within a NUMA node is always given. A finer level without a cost has the cost of the
    next coarser level. Beyond the node, a message without a cost has the cost within a node times
    the NUMA factor.
    """

    by_name: Mapping[str, float]

    def __post_init__(self) -> None:
        costs = list(self.by_name.values())
        if not all(0 <= cost < float("inf") for cost in costs) or not self.by_name.get(NODE, 0) > 0:
            raise NumascapeError(
                f"the costs {self._text()} must be finite numbers from 0, that of a node above 0"
            )

    def _text(self) -> str:
        return ",".join(f"{name}={cost:g}" for name, cost in self.by_name.items())

    def of(self, levels: Sequence[PlaceLevel]) -> list[float | None]:
        """The cost of each level, and between hosts; None: by NUMA factor.

        Raises NumascapeError if there is no such level, or costs fall from a level to the next.
        """
        names = _check_names(self.by_name, levels)
        costs: list[float | None] = [self.by_name.get(name) for name in names]
        node = names.index(NODE)
        for i in range(node - 1, -1, -1):
            costs[i] = costs[i + 1] if costs[i] is None else costs[i]
        given = [cost for cost in costs if cost is not None]
        if given != sorted(given):
            raise NumascapeError(f"the costs {self._text()} must rise from core to hosts")
        return costs


def _check_names(given: Iterable[str], levels: Sequence[PlaceLevel]) -> list[str]:
    """The names of all levels, and of pairs of hosts. Raises NumascapeError for another name."""
    names = [*(level.name for level in levels), BETWEEN_HOSTS]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise NumascapeError(
            f"there is no level {unknown[0][:20]!r} here: choose from {', '.join(names)}"
        )
    return names


def three_costs(costs: Sequence[float], levels: Sequence[PlaceLevel]) -> LevelCosts:
    """Costs within a core, within any shared cache or other group in a node, and within a node."""
    core, cache, node = costs
    inner = inside_node(levels)
    return LevelCosts({CORE: core, **dict.fromkeys(inner, cache), NODE: node})


def assumed_costs(levels: Sequence[PlaceLevel]) -> LevelCosts:
    """Nothing within a core, 1 on the closest shared level, and twice as much on each next one."""
    names = [*inside_node(levels), NODE]
    return LevelCosts({CORE: 0.0, **{name: _STEP**i for i, name in enumerate(names)}})


def named_costs(text: str, levels: Sequence[PlaceLevel]) -> LevelCosts:
    """Read costs such as core=0,L2=1,L3=2,node=4. Raises NumascapeError."""
    costs: dict[str, float] = {}
    for word in text.split(","):
        before, _, value = word.partition("=")
        name = before.strip()
        if name in costs:
            raise NumascapeError(f"--level-costs has two costs of {name[:20]!r}: give one")
        try:
            costs[name] = float(value)
        except ValueError:
            raise NumascapeError(
                f"--level-costs {text[:60]!r} is not a list of costs such as core=0,L3=1,node=3"
            ) from None
    _check_names(costs, levels)
    if NODE not in costs:
        raise NumascapeError("--level-costs does not have the cost within a node: add node=3")
    return LevelCosts(costs)


def inside_node(levels: Sequence[PlaceLevel]) -> list[str]:
    """The names of the levels between core and node, such as shared caches."""
    names = [level.name for level in levels]
    return names[1 : names.index(NODE)]


def with_levels(target: Target, levels: Sequence[PlaceLevel], costs: LevelCosts) -> Target:
    """The target with each core, or group of cores with one cost, as a node.

    `target` and its levels are of one or more hosts. Raises NumascapeError if there would be too
    many nodes, or the costs are not those of the levels.
    """
    each = costs.of(levels)
    # The coarsest level, up to the node, in which all messages cost the same.
    node = [level.name for level in levels].index(NODE)
    group = levels[max(i for i in range(node + 1) if each[i] == each[0])].group
    places = int(group.max()) + 1
    if places > MAX_PLACES:
        raise NumascapeError(
            f"costs by level distinguish {places} cores or caches, more than {MAX_PLACES}: give "
            "fewer --hosts, or the same cost for core and cache"
        )
    first = np.unique(group, return_index=True)[1]
    # The memory of a node belongs to several places, so its limit is not known for one.
    return replace(
        target, core_node=group, factor=_between_nodes(target, levels, costs.by_name[NODE], each),
        node_memory=no_floats(), inner=_inside_nodes(target, levels, each, first),
    )  # fmt: skip


def _between_nodes(
    target: Target, levels: Sequence[PlaceLevel], within: float, each: Sequence[float | None]
) -> Floats:
    """The costs of messages between NUMA nodes, and on the diagonal within each."""
    first = np.unique(target.core_node, return_index=True)[1]
    factor: Floats = within * target.factor
    shared = common_level(levels, first[:, None], first[None, :])
    for i, cost in enumerate(each):
        if cost is not None:
            factor[shared == i] = cost
    np.fill_diagonal(factor, within)
    return factor


def _inside_nodes(
    target: Target, levels: Sequence[PlaceLevel], each: Sequence[float | None], first: Integers
) -> Inner | None:
    """The levels inside nodes, for places whose first cores these are; None if there are none.

    A level whose messages cost as much as those of the next one is left out.
    """
    node = [level.name for level in levels].index(NODE)
    inside = [i for i in range(node) if each[i] != each[i + 1]]
    if not inside:
        return None
    return Inner(
        row=target.core_node[first],
        group=np.array([levels[i].group[first] for i in inside], np.uint32),
        cost=np.array([each[i] for i in inside], np.float64),
    )


def measured_costs(
    target: Target, levels: Sequence[PlaceLevel], latencies: CoreLatencies
) -> tuple[Target, LevelCosts]:
    """The target of one host with measured factors between its nodes, and the costs by level.

    A level's cost is the median latency of the pairs of cores whose closest common level it is,
    divided by that of the finest measured level. It is never less than the cost of the next finer
    level, because other programs disturb measurements. A message within a core moves no cache line,
    so it costs nothing. If no pair was measured, a level costs as much as the next finer one, and
    nodes keep their factors. Raises NumascapeError if the latencies are not those of the machine.
    """
    ns = _by_core(target, latencies)
    cores = np.arange(target.cores)
    shared = common_level(levels, cores[:, None], cores[None, :])
    names = [*inside_node(levels), NODE]
    medians = [_median(ns[shared == 1 + i]) for i in range(len(names))]
    if all(median is None for median in medians):
        raise NumascapeError("the latencies have no pair of cores of one node")
    quickest = next(median for median in medians if median is not None)
    costs, last = {CORE: 0.0}, 1.0
    for name, median in zip(names, medians, strict=True):
        last = max(last, (median or quickest) / quickest)
        costs[name] = last
    node, within = target.core_node.astype(np.int64), last * quickest
    factor = target.factor.copy()
    for i in range(target.nodes):
        for j in range(target.nodes):
            between = _median(ns[np.ix_(node == i, node == j)]) if i != j else None
            if between is not None:
                factor[i, j] = max(1.0, between / within)
    return replace(target, factor=factor), LevelCosts(costs)


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
