# SPDX-License-Identifier: Apache-2.0
"""The cores and nodes that tasks are mapped to, as plain matrices; from a machine's description."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape.balance.graph import Floats, Integers, no_floats
from numascape.errors import NumascapeError
from numascape.machine import Machine, numa_factors
from numascape.machine.factors import bandwidths, latencies

MAX_NODES: Final = 4096
MAX_FACTOR: Final = 1e6
USUAL_FACTOR: Final = 2.0
"""The factor between two nodes if nothing is known. Published factors are from 1.2 to 3."""
USUAL_HOST_FACTOR: Final = 10.0
"""The factor between two hosts: a message takes 1 to 2 us by network, 0.1 us through a cache."""


@dataclass(frozen=True, eq=False)
class Inner:
    """Groups of nodes inside the rows of a target's matrices, level by level, from the finest.

    `row` is the row of each node in the matrices; `group` (levels x nodes) the group of each node;
    `cost` that of a message within a group, by level. Groups are inside those of the next level.
    """

    row: npt.NDArray[np.uint32]
    group: npt.NDArray[np.uint32]
    cost: Floats

    def part(self, nodes: Integers) -> tuple[Integers, Inner]:
        """The rows that these nodes have, and the groups of these nodes, renumbered."""
        rows, row = np.unique(self.row[nodes], return_inverse=True)
        group = [np.unique(level[nodes], return_inverse=True)[1] for level in self.group]
        return rows.astype(np.int64), Inner(
            row.astype(np.uint32), np.array(group, np.uint32), self.cost
        )


@dataclass(frozen=True, eq=False)
class Target:
    """Cores, each on a node, and matrices over nodes (row = the sender's).

    `factor` is the NUMA factor; `latency` seconds per message and `bandwidth` bytes per second,
    both empty where unknown; `cpus` the CPU number of each core; `core_memory` the bytes that each
    core's process may use, empty where that is unlimited. With `inner`, several nodes have one row
    of the matrices, and messages within a group of nodes cost what its level says.
    """

    name: str
    core_node: npt.NDArray[np.uint32]
    factor: Floats
    cpus: tuple[int, ...] = ()
    speed: Floats = field(default_factory=no_floats)
    latency: Floats = field(default_factory=no_floats)
    bandwidth: Floats = field(default_factory=no_floats)
    node_memory: Floats = field(default_factory=no_floats)
    core_memory: Floats = field(default_factory=no_floats)
    inner: Inner | None = None

    @property
    def cores(self) -> int:
        """The number of cores."""
        return len(self.core_node)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.factor) if self.inner is None else len(self.inner.row)

    @property
    def numa_node(self) -> Integers:
        """The NUMA node of each core: the row of its node in the matrices."""
        rows = np.arange(self.nodes) if self.inner is None else self.inner.row.astype(np.int64)
        return rows[self.core_node]

    def factors(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
        """The factors of messages from nodes `a` to nodes `b`, which broadcast."""
        start, end = np.asarray(a, np.int64), np.asarray(b, np.int64)
        if self.inner is None:
            return np.asarray(self.factor[start, end], np.float64)
        row = self.inner.row
        found = np.array(self.factor[row[start], row[end]], np.float64)
        for group, cost in zip(self.inner.group[::-1], self.inner.cost[::-1], strict=True):
            found[group[start] == group[end]] = cost
        return found

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """The arrays by their names in src/native/balance/problem.h."""
        floats = ("factor", "speed", "latency", "bandwidth", "node_memory", "core_memory")
        arrays: dict[str, npt.NDArray[np.generic]] = {
            name: np.ascontiguousarray(getattr(self, name), np.float64).ravel() for name in floats
        }
        arrays["core_node"] = np.ascontiguousarray(self.core_node, np.uint32)
        if self.inner is not None:
            arrays["factor_row"] = np.ascontiguousarray(self.inner.row, np.uint32)
            arrays["level_group"] = np.ascontiguousarray(self.inner.group, np.uint32).ravel()
            arrays["level_cost"] = np.ascontiguousarray(self.inner.cost, np.float64)
        return arrays


def flat_target(nodes: int, cores_per_node: int, factor: float, name: str = "") -> Target:
    """Nodes with equally many cores, and one factor between any two."""
    matrix = np.full((nodes, nodes), float(factor))
    np.fill_diagonal(matrix, 1.0)
    core_node = np.repeat(np.arange(nodes, dtype=np.uint32), cores_per_node)
    return Target(name or f"{nodes} x {cores_per_node} cores", core_node, matrix)


def target_of_machine(machine: Machine, factor: float | None = None) -> Target:
    """A core for each physical core (its first CPU), in the order of nodes, with known factors.

    If the machine's physical cores are unknown, each CPU counts as one. Nodes without CPUs are
    left out. `factor` is used for unknown NUMA factors. Raises NumascapeError if a factor is
    unknown, and `factor` is None.
    """
    _check_factor(factor)
    usable = set(machine.usable_cpus)
    first = {min(core) for core in machine.cores} if machine.cores else usable
    nodes = [(i, sorted(set(node.cpus) & usable & first)) for i, node in enumerate(machine.nodes)]
    nodes = [(i, cpus) for i, cpus in nodes if cpus]
    if not nodes:
        raise NumascapeError(f"{machine.name} has no CPU to map tasks to")
    places = [i for i, _ in nodes]
    known = _submatrix(numa_factors(machine).values, places)
    np.fill_diagonal(known, 1.0)
    unknown = np.isnan(known)
    if unknown.any() and factor is None:
        raise NumascapeError(
            f"{machine.name} does not say the NUMA factors between its nodes: give a machine that "
            "was probed (numascape machine probe), one with factors, or a factor (--factor)"
        )
    if factor is not None:
        known[unknown] = factor
    nanoseconds = _submatrix(latencies(machine).values, places)
    gigabytes = _submatrix(bandwidths(machine).values, places)
    timed = not (np.isnan(nanoseconds).any() or np.isnan(gigabytes).any())
    memory = [machine.nodes[i].memory_bytes for i in places]
    return Target(
        name=machine.name,
        core_node=np.repeat(np.arange(len(nodes), dtype=np.uint32), [len(c) for _, c in nodes]),
        factor=known,
        cpus=tuple(cpu for _, cpus in nodes for cpu in cpus),
        latency=nanoseconds * 1e-9 if timed else no_floats(),
        bandwidth=gigabytes * 1e9 if timed else no_floats(),
        node_memory=np.array(memory, np.float64) if all(memory) else no_floats(),
    )


def with_factor(target: Target, factor: float) -> Target:
    """The target with this NUMA factor between any two nodes.

    Its latencies and bandwidths are left out, because they would contradict the factor.
    """
    _check_factor(factor)
    matrix = flat_target(target.nodes, 1, factor).factor
    return replace(target, factor=matrix, latency=no_floats(), bandwidth=no_floats())


def several_hosts(target: Target, hosts: int, factor: float) -> Target:
    """A copy of the target for each host.

    A message between hosts costs `factor` times as much as one within a node. The cores of a host
    are numbered one after the other. CPU numbers are those of each host.
    """
    _check_factor(factor)
    nodes = hosts * target.nodes
    if hosts < 1 or nodes > MAX_NODES:
        raise NumascapeError(f"{hosts} hosts have {nodes} nodes, not from 1 to {MAX_NODES}")
    if hosts == 1:
        return target
    own = np.kron(np.eye(hosts), np.ones((target.nodes, target.nodes))) > 0
    offsets = np.repeat(np.arange(hosts, dtype=np.uint32) * target.nodes, target.cores)
    return replace(
        target,
        name=f"{hosts} x {target.name}",
        core_node=np.tile(target.core_node, hosts) + offsets,
        factor=np.where(own, np.tile(target.factor, (hosts, hosts)), factor),
        cpus=target.cpus * hosts,
        speed=np.tile(target.speed, hosts),
        node_memory=np.tile(target.node_memory, hosts),
        core_memory=np.tile(target.core_memory, hosts),
        # The latency and the bandwidth of the network are not known.
        latency=no_floats(),
        bandwidth=no_floats(),
    )


def _check_factor(factor: float | None) -> None:
    if factor is not None and not 1 <= factor <= MAX_FACTOR:
        raise NumascapeError(f"the factor {factor:g} is not a number from 1 to {MAX_FACTOR:g}")


def _submatrix(values: tuple[tuple[float | None, ...], ...], places: list[int]) -> Floats:
    """The rows and columns of `places`; nan where nothing is known."""
    rows = [[values[i][j] for j in places] for i in places]
    return np.array([[np.nan if cell is None else cell for cell in row] for row in rows])
