# SPDX-License-Identifier: Apache-2.0
"""The levels of a machine's topology, as groups of the cores of a target.

From the finest: core; each cache that cores share; other groups (dies, clusters); NUMA node;
package (socket); host. A level with the same groups as another one is left out. The order follows
from the topology: a cache can be inside a node, or contain several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape.balance.graph import Cores, Floats, Integers, TaskGraph
from numascape.balance.target import Target
from numascape.machine import Machine

CORE: Final = "core"
NODE: Final = "node"
BETWEEN_HOSTS: Final = "hosts"
"""The name for pairs of cores on different hosts: they have no level in common."""
_PACKAGE: Final = "package"
_HOST: Final = "host"
_MAX_KINDS: Final = 16
"""Maximum number of kinds of groups of a machine. Further kinds in its file are ignored."""


@dataclass(frozen=True, eq=False)
class PlaceLevel:
    """A level: its name, and the number of each core's group."""

    name: str
    group: Cores

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.group.max()) + 1


def place_levels(target: Target, machine: Machine, hosts: int = 1) -> list[PlaceLevel]:
    """The levels from core to host; the groups of each are inside those of the next.

    `target` has the cores of all `hosts`; each host is this machine. If the groups of two levels
    overlap, those of the finer one are cut.
    """
    host = np.arange(target.cores) * hosts // target.cores
    named = [(_HOST, host.astype(np.int64)), (NODE, target.core_node.astype(np.int64))]
    for name, sets in _sets(machine):
        group_of = {cpu: number for number, cpus in enumerate(sets) for cpu in cpus}
        alone = len(sets)
        places = [group_of.get(cpu, alone + cpu) for cpu in target.cpus]
        named.append((name, _numbered(host, np.array(places, np.int64))))
    # Coarsest first. If levels have the same groups, one stays: the first by _preferred.
    named.sort(key=lambda level: (len(np.unique(level[1])), _preferred(level[0])))
    found: list[PlaceLevel] = []
    outer: Integers = np.zeros(target.cores, np.int64)
    for name, group in named:
        inside = _numbered(outer, group)
        count = int(inside.max()) + 1
        if found and count == found[-1].groups:
            if _preferred(name) < _preferred(found[-1].name):
                found[-1] = PlaceLevel(name, found[-1].group)
        elif count < target.cores or name in (NODE, _HOST):
            found.append(PlaceLevel(name, inside.astype(np.uint32)))
        outer = inside
    found.append(PlaceLevel(CORE, np.arange(target.cores, dtype=np.uint32)))
    return found[::-1]


def _plain_names(machine: Machine) -> list[str]:
    """A name for each other kind of groups, of letters and digits; all names are different."""
    taken = {CORE, NODE, _PACKAGE, _HOST, BETWEEN_HOSTS}
    names = []
    for groups in machine.groups[:_MAX_KINDS]:
        plain = "".join(c for c in groups.kind[:20] if c.isascii() and c.isalnum()) or "group"
        plain, number = plain.lower(), 1
        while (name := plain if number == 1 else f"{plain}{number}") in taken:
            number += 1
        taken.add(name)
        names.append(name)
    return names


def _sets(machine: Machine) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    """The name and the sets of CPUs of each kind of group, without nodes."""
    yield _PACKAGE, list(machine.packages)
    for name, groups in zip(_plain_names(machine), machine.groups, strict=False):
        yield name, list(groups.groups)
    shared = [cache for cache in machine.caches if cache.kind in ("unified", "data")]
    for level in sorted({cache.level for cache in shared}, reverse=True):
        yield (
            f"L{level}",
            [group for cache in shared if cache.level == level for group in cache.groups],
        )


def _preferred(name: str) -> int:
    """The rank of a name if levels have the same groups. The node is always needed."""
    order = (NODE, _HOST, _PACKAGE)
    return order.index(name) if name in order else len(order)


def _numbered(outer: Integers, inner: Integers) -> Integers:
    """Numbers from 0 for the groups of `inner`, each cut at the borders of groups of `outer`."""
    pairs = outer * (int(inner.max(initial=0)) + 1) + inner
    numbers: Integers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


def common_level(
    levels: Sequence[PlaceLevel], a: npt.NDArray[np.integer], b: npt.NDArray[np.integer]
) -> npt.NDArray[np.int8]:
    """The index of the closest level that two cores share; if there is none, `len(levels)`."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    found = np.full(shape, len(levels), np.int8)
    for i in range(len(levels) - 1, -1, -1):
        found[levels[i].group[a] == levels[i].group[b]] = i
    return found


def level_names(levels: Sequence[PlaceLevel], hosts: int) -> list[str]:
    """The names of the columns: levels, and that between hosts if there are several."""
    return [level.name for level in levels] + ([BETWEEN_HOSTS] if hosts > 1 else [])


def messages_by_level(
    graph: TaskGraph, mapping: Cores, levels: Sequence[PlaceLevel], weights: Floats | None = None
) -> dict[str, float]:
    """For each level, the share of the messages whose closest common level it is.

    Messages between hosts have a share, too. `weights` are the weights of messages, such as their
    bytes; by default their numbers.
    """
    if weights is None:
        weights = graph.count if len(graph.count) else np.ones(graph.messages)
    common = common_level(levels, mapping[graph.senders], mapping[graph.to])
    names = [*(level.name for level in levels), BETWEEN_HOSTS]
    amounts = np.bincount(common, weights, len(names))
    total = float(amounts.sum())
    return {
        name: float(amount) / total if total else 0.0
        for name, amount in zip(names, amounts, strict=True)
    }
