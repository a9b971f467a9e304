# SPDX-License-Identifier: Apache-2.0
"""The nodes of a machine for placement decisions: NUMA factors, memory speed, free memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from numascape.balance.graph import Floats, Integers
from numascape.balance.target import Target, target_of_machine
from numascape.machine import Machine, Matrix, Provenance
from numascape.prediction.speeds import Speeds

KEPT_FREE: Final = 0.05
"""Share of a node's memory that is left for the kernel, code and used page cache."""
_SHARPNESS: Final = 4
"""Exponent of the norm that combines latency and load; the smaller one also counts a little."""


@dataclass(frozen=True, eq=False)
class NodeModel:
    """Matrices and vectors over the machine's nodes, in order.

    `factor` is the NUMA factor (row: the thread's node), `cores` the number of cores of each node,
    `speed` the bandwidth of its memory relative to the mean, `room` its available bytes.
    """

    numbers: tuple[int, ...]
    factor: Floats
    cores: Floats
    speed: Floats
    room: Floats

    @property
    def with_cpus(self) -> Integers:
        """The positions of nodes with usable CPUs."""
        return np.flatnonzero(self.cores)

    def seconds(self, traffic: Floats, parallelism: float) -> float:
        """The relative time for `traffic`, only for comparing placements.

        `traffic` (2 x nodes x nodes) has the lines while several threads work, and while one thread
        works; the row is the threads' node, the column the memory's. `parallelism` is the number of
        threads that would do the parallel work in the same time if all worked equally. With load
        imbalance, it is lower than the number of threads. The time is the longer one of two: the
        threads' time to wait for all lines, and the busiest controller's time. A controller is
        fully used when all cores of its node access it and nothing else. The result is about 1 if
        all lines are local and no controller is fully used.
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

    def nodes_for(self, size: float) -> Integers:
        """The nodes with CPUs over which this many bytes can be spread evenly.

        If these do not have enough room, nodes without CPUs are used, too. If all nodes together do
        not have enough room, the result is the nodes with CPUs.
        """
        every = np.argsort(-self.room, kind="stable")
        for candidates in (every[self.cores[every] > 0], every):
            for count in range(len(candidates), 0, -1):
                if self.room[candidates[:count]].min() >= size / count:
                    return np.sort(candidates[:count])
        return self.with_cpus

    def spilled(self, bytes_wanted: Floats, room: Floats) -> Floats:
        """Row j: the share of the bytes wanted on node j that each node gets, as nodes fill up.

        Bytes that do not fit go to the nearest node with room; if there is none, they stay.
        """
        shares = np.eye(len(room))
        fits = np.minimum(bytes_wanted, np.maximum(room, 0.0))
        left = np.maximum(room, 0.0) - fits
        for node in np.flatnonzero(bytes_wanted > fits):
            shares[node, node] = fits[node] / bytes_wanted[node]
            over = bytes_wanted[node] - fits[node]
            distance = self.factor[node] if self.cores[node] else self.factor.max(axis=0)
            for other in np.argsort(distance, kind="stable"):
                if other != node:
                    taken = min(over, left[other])
                    shares[node, other] += taken / bytes_wanted[node]
                    left[other] -= taken
                    over -= taken
            shares[node, node] += over / bytes_wanted[node]
        return shares


def node_model(machine: Machine, speeds: Speeds, free_bytes: Mapping[int, int] | None) -> NodeModel:
    """Model the machine's nodes with `free_bytes` by number, or else with most of their memory.

    A node that is not in `free_bytes` has no room.
    """
    factor = speeds.latency / np.diagonal(speeds.latency)[:, None]
    # No thread runs on such a node, so its row of factors is not used.
    factor[speeds.cpus == 0] = 1.0
    if free_bytes is None:
        given = [node.memory_bytes * (1.0 - KEPT_FREE) for node in machine.nodes]
        # A size of 0 is unknown.
        room = [bytes_free if bytes_free else np.inf for bytes_free in given]
    else:
        room = [float(free_bytes.get(number, 0)) for number in speeds.nodes]
    cores = np.where(speeds.cpus > 0, speeds.cores, 0).astype(np.float64)
    relative = speeds.controller / speeds.controller[speeds.cpus > 0].mean()
    return NodeModel(speeds.nodes, factor, cores, relative, np.array(room))


def balancing_target(machine: Machine, speeds: Speeds) -> Target:
    """The machine for the balancer; unknown factors have their assumed values."""
    factor = speeds.latency / np.diagonal(speeds.latency)[:, None]
    rows = tuple(tuple(float(cell) for cell in row) for row in factor)
    assumed = Matrix(rows, Provenance("assumed", "for computing a plan"))
    return target_of_machine(replace(machine, factors=(*machine.factors, assumed)))


def target_nodes(machine: Machine, target: Target) -> list[int]:
    """The position of each of the target's nodes in the machine."""
    node_of = {cpu: i for i, node in enumerate(machine.nodes) for cpu in node.cpus}
    first: dict[int, int] = {}
    for cpu, node in zip(target.cpus, target.core_node.tolist(), strict=True):
        first.setdefault(node, node_of[cpu])
    return [first[node] for node in range(target.nodes)]
