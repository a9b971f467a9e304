# SPDX-License-Identifier: Apache-2.0
"""A machine's nodes as the choice of a placement sees them: factors, memory's speed, room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from numascape.balance.graph import Floats, Numbers
from numascape.balance.target import Target, target_of_machine
from numascape.machine import Machine, Matrix, Provenance
from numascape.prediction.speeds import Speeds

KEPT_FREE: Final = 0.05
"""Of a node's memory: kernel, programs' code, page cache in use."""
_SHARPNESS: Final = 4
"""Of the larger of latency and load, rounded so that the smaller one still counts a little."""


@dataclass(frozen=True, eq=False)
class NodeModel:
    """Matrices and vectors over the machine's nodes in their order.

    `factor` is the NUMA factor (row: where the thread runs), `cores` how many each node has,
    `speed` the bandwidth of its memory over the mean one's, `room` the bytes that it can take.
    """

    numbers: tuple[int, ...]
    factor: Floats
    cores: Floats
    speed: Floats
    room: Floats

    @property
    def with_cpus(self) -> Numbers:
        """The positions of nodes that have CPUs to use."""
        return np.flatnonzero(self.cores)

    def seconds(self, traffic: Floats, parallelism: float) -> float:
        """What `traffic` takes, as a ratio: for comparing placements only.

        `traffic` is 2 x nodes x nodes: lines while several threads work, and while one does; row
        the threads' node, column the memory's. `parallelism` is how many threads' full work the
        first makes up: fewer than work when they do so unevenly. 1 is all of it local, on as many
        controllers as there are threads for. The longer of the threads' time at each line's
        latency, and of the busiest controller's, which is fully used by its own node's cores when
        all that they take is local.
        """
        total = traffic.sum()
        if not total:
            return 0.0
        cores = self.cores[self.with_cpus].mean()
        seconds = 0.0
        for lines, working in zip(traffic, (min(parallelism, self.cores.sum()), 1.0), strict=True):
            latency = (lines * self.factor).sum()
            load = (lines.sum(axis=0) / self.speed).max() * working / cores
            seconds += (latency**_SHARPNESS + load**_SHARPNESS) ** (1.0 / _SHARPNESS)
        return float(seconds / total)

    def nodes_for(self, size: float) -> Numbers:
        """The nodes with CPUs on which so many bytes can be spread evenly.

        Where these have no room for it, all nodes that have; without any, the nodes with CPUs.
        """
        every = np.argsort(-self.room, kind="stable")
        for candidates in (every[self.cores[every] > 0], every):
            for count in range(len(candidates), 0, -1):
                if self.room[candidates[:count]].min() >= size / count:
                    return np.sort(candidates[:count])
        return self.with_cpus

    def spilled(self, bytes_wanted: Floats, room: Floats) -> Floats:
        """Row j: the shares of what is wanted on node j that each node gets, as nodes fill up.

        What does not fit goes to the next nearest node that has room; beyond all, it stays.
        """
        shares = np.eye(len(room))
        fits = np.minimum(bytes_wanted, np.maximum(room, 0.0))
        left = np.maximum(room, 0.0) - fits
        for node in np.flatnonzero(bytes_wanted > fits):
            shares[node, node] = fits[node] / bytes_wanted[node]
            over = bytes_wanted[node] - fits[node]
            distance = self.factor[node] if self.cores[node] else self.factor.max(axis=0)
            for other in np.argsort(distance, kind="stable"):
                taken = min(over, left[other])
                if other != node and taken > 0:
                    shares[node, other] += taken / bytes_wanted[node]
                    left[other] -= taken
                    over -= taken
            shares[node, node] += over / bytes_wanted[node]
        return shares


def node_model(machine: Machine, speeds: Speeds, free_bytes: Mapping[int, int] | None) -> NodeModel:
    """The machine's nodes; `free_bytes` by the nodes' numbers, or else their memory.

    A node that `free_bytes` does not name takes nothing.
    """
    factor = speeds.latency / np.diagonal(speeds.latency)[:, None]
    # No thread runs there: the factors of such a row are nobody's.
    factor[speeds.cpus == 0] = 1.0
    if free_bytes is None:
        given = [node.memory_bytes * (1.0 - KEPT_FREE) for node in machine.nodes]
        # A size of 0 is one that nobody knows.
        room = [bytes_free if bytes_free else np.inf for bytes_free in given]
    else:
        room = [float(free_bytes.get(number, 0)) for number in speeds.nodes]
    cores = np.where(speeds.cpus > 0, speeds.cores, 0).astype(np.float64)
    relative = speeds.controller / speeds.controller[speeds.cpus > 0].mean()
    return NodeModel(speeds.nodes, factor, cores, relative, np.array(room))


def balancing_target(machine: Machine, speeds: Speeds) -> Target:
    """The machine for the balancer, with what is assumed where a factor is unknown."""
    factor = speeds.latency / np.diagonal(speeds.latency)[:, None]
    rows = tuple(tuple(float(cell) for cell in row) for row in factor)
    assumed = Matrix(rows, Provenance("assumed", "for computing a plan"))
    return target_of_machine(replace(machine, factors=(*machine.factors, assumed)))


def target_nodes(machine: Machine, target: Target) -> list[int]:
    """The position in the machine's nodes of each of the target's."""
    node_of = {cpu: i for i, node in enumerate(machine.nodes) for cpu in node.cpus}
    first: dict[int, int] = {}
    for cpu, node in zip(target.cpus, target.core_node.tolist(), strict=True):
        first.setdefault(node, node_of[cpu])
    return [first[node] for node in range(target.nodes)]
