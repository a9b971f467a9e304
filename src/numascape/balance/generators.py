# SPDX-License-Identifier: Apache-2.0
"""The three benchmarks as task graphs, with the first mapping of their tasks.

Sizes are those of L. L. Pilla et al., "Improving Parallel System Performance with a NUMA-aware Load
Balancer", TR-JLPC-11-02; lb_test's loads and graph are those of Charm++'s own test program.
Parameters that these sources do not give are chosen so that the imbalance is about that of the
paper; docs/balance.md names each choice.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from numascape.balance.graph import Cores, Integers, TaskGraph, task_graph

Topology = Literal["ring", "mesh2d", "mesh3d", "random"]
TOPOLOGIES: Final[tuple[Topology, ...]] = ("ring", "mesh2d", "mesh3d", "random")
RANDOM_SHARE: Final = 0.01
"""Share of all ordered pairs of tasks that send in lb_test's random graph, including its ring."""
_DOUBLE: Final = 8


def blocks(tasks: int, cores: int) -> Cores:
    """Charm++'s default map of an array: equal blocks of consecutive elements."""
    return (np.arange(tasks) * cores // max(tasks, 1)).astype(np.uint32)


def round_robin(tasks: int, cores: int) -> Cores:
    """Charm++'s RRMap."""
    return (np.arange(tasks) % cores).astype(np.uint32)


def at_random(tasks: int, cores: int, seed: int) -> Cores:
    """Map each task to a random core, as a hash of its index would."""
    return np.random.default_rng(seed).integers(0, cores, tasks).astype(np.uint32)


def k_neighbor(
    tasks: int,
    cores: int,
    k: int = 8,
    message_bytes: int = 16 << 10,
    load: float = 1e-4,
    seed: int = 1,
) -> TaskGraph:
    """KNeighbor: communication only. A task sends to its k neighbours by number, k/2 on each side.

    `load` stands for the time that handling the messages takes.
    """
    near = [d for d in range(-(k // 2), k // 2 + 1) if d]
    sender = np.repeat(np.arange(tasks), len(near))
    receiver = (sender + np.tile(near, tasks)) % max(tasks, 1)
    return task_graph(
        np.full(tasks, load), at_random(tasks, cores, seed), sender, receiver,
        bytes=np.full(len(sender), message_bytes), migrated_bytes=np.full(tasks, message_bytes),
    )  # fmt: skip


def lb_test(
    tasks: int,
    cores: int,
    topology: Topology = "random",
    load: tuple[float, float] = (0.05, 0.2),
    message_bytes: int = 1000,
    seed: int = 1,
) -> TaskGraph:
    """lb_test: messages along one of four topologies, and loads between two bounds.

    Few loads are large: a load is the lower bound plus the range times u^4, with u random in [0,
    1).
    """
    random = np.random.default_rng(seed)
    least, most = load
    loads = least + (most - least) * random.random(tasks) ** 4
    sender, receiver = _edges(topology, tasks, random)
    return task_graph(
        loads, blocks(tasks, cores), sender, receiver,
        bytes=np.full(len(sender), message_bytes), migrated_bytes=np.full(tasks, 4 << 10),
    )  # fmt: skip


def jacobi2d(
    tasks: int, cores: int, data: int = 32, load: float = 0.05, tilt: float = 8.0
) -> TaskGraph:
    """jacobi2D: a five-point stencil on a square of tasks, each with data x data elements.

    The imbalance is that of a front that passes through: a task's load rises from row to row, and
    is 1 + tilt times as large in the last row as in the first. Neighbours exchange an edge of data.
    """
    side = round(tasks**0.5)
    row = np.arange(side * side) // max(side, 1)
    loads = load * (1.0 + tilt * row / max(side - 1, 1))
    sender, receiver = _mesh((side, side))
    return task_graph(
        loads, blocks(side * side, cores), sender, receiver,
        bytes=np.full(len(sender), data * _DOUBLE),
        migrated_bytes=np.full(side * side, data * data * _DOUBLE),
    )  # fmt: skip


def mesh(side: int, cores: int, spread: float = 0.6, seed: int = 1) -> TaskGraph:
    """A side x side mesh whose loads are log-normal, in blocks of rows."""
    loads = np.random.default_rng(seed).lognormal(0.0, spread, side * side) * 1e-2
    sender, receiver = _mesh((side, side))
    return task_graph(
        loads, blocks(side * side, cores), sender, receiver,
        bytes=np.full(len(sender), 1 << 10), migrated_bytes=np.full(side * side, 8 << 10),
    )  # fmt: skip


def _edges(
    topology: Topology, tasks: int, random: np.random.Generator
) -> tuple[Integers, Integers]:
    if topology in ("ring", "random"):
        ring = np.arange(tasks)
        after = (ring + 1) % max(tasks, 1)
        if topology == "ring":
            return ring, after
        sender, receiver = _at_random(
            tasks, int(RANDOM_SHARE * tasks * (tasks - 1)) - tasks, random
        )
        return np.concatenate([ring, sender]), np.concatenate([after, receiver])
    dimensions = 2 if topology == "mesh2d" else 3
    side = 1
    while (side + 1) ** dimensions <= tasks:
        side += 1
    # Tasks that do not fit into the cube are in further layers of its first dimension.
    layers = -(-tasks // side ** (dimensions - 1))
    sender, receiver = _mesh((layers,) + (side,) * (dimensions - 1))
    inside = (sender < tasks) & (receiver < tasks)
    return sender[inside], receiver[inside]


def _at_random(tasks: int, count: int, random: np.random.Generator) -> tuple[Integers, Integers]:
    """Random ordered pairs of tasks, without pairs of a task with itself or the next one."""
    sender = np.repeat(np.arange(tasks), max(tasks - 2, 0))
    receiver = (sender + np.tile(np.arange(2, tasks), tasks)) % max(tasks, 1)
    chosen = random.choice(len(sender), max(count, 0), replace=False)
    return sender[chosen], receiver[chosen]


def _mesh(shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Both directions of every pair of neighbours in a mesh of this shape."""
    number = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    low, high = [], []
    for axis in range(len(shape)):
        low.append(np.moveaxis(number, axis, 0)[:-1].ravel())
        high.append(np.moveaxis(number, axis, 0)[1:].ravel())
    return np.concatenate(low + high), np.concatenate(high + low)
