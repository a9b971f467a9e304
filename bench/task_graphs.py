# SPDX-License-Identifier: Apache-2.0
"""Task graphs of four kinds, for comparing balancers with partitioners."""

from collections.abc import Callable

import numpy as np

from numascape.balance import TaskGraph, task_graph
from numascape.balance import generators as generated
from numascape.balance.graph import Floats, Integers


def mesh(tasks: int, cores: int, seed: int) -> TaskGraph:
    """A square mesh with log-normal loads, in blocks of rows."""
    return generated.mesh(round(tasks**0.5), cores, seed=seed)


def amr(tasks: int, cores: int, seed: int) -> TaskGraph:
    """A square that is refined around a circle: a task is a leaf of a quadtree.

    Neighbours exchange messages, also across levels; the more levels, the smaller a leaf. Leaves
    are in the order of their first corner, and that order is cut into blocks.
    """
    random = np.random.default_rng(seed)
    side = 1 << max(4, round(np.log2(tasks) / 2 + 1.5))
    centre, radius = side * random.uniform(0.4, 0.6, 2), side * 0.28
    leaves = [(0, 0, side)]
    while len(leaves) < tasks:
        # The leaves that are largest for their distance from the circle are divided first.
        ranks = [_rank(leaf, centre, radius) for leaf in leaves]
        order = np.argsort(ranks)[::-1][: max(1, len(leaves) // 4)]
        chosen = set(order[: max(1, (tasks - len(leaves)) // 3 + 1)].tolist())
        divided: list[tuple[int, int, int]] = []
        for i, (x, y, size) in enumerate(leaves):
            half = size // 2
            divided += (
                [(x, y, half), (x + half, y, half), (x, y + half, half), (x + half, y + half, half)]
                if i in chosen and half else [(x, y, size)]
            )  # fmt: skip
        leaves = divided
    owner = np.empty((side, side), np.int64)
    for i, (x, y, size) in enumerate(leaves):
        owner[x : x + size, y : y + size] = i
    left = np.concatenate([owner[:-1].ravel(), owner[:, :-1].ravel()])
    right = np.concatenate([owner[1:].ravel(), owner[:, 1:].ravel()])
    across = left != right
    left, right = left[across], right[across]
    loads = random.lognormal(0.0, 0.3, len(leaves)) * 1e-2
    return _both_ways(loads, cores, left, right)


def _rank(leaf: tuple[int, int, int], centre: Floats, radius: float) -> float:
    x, y, size = leaf
    away = abs(np.hypot(x + size / 2 - centre[0], y + size / 2 - centre[1]) - radius)
    return size / (1.0 + float(away)) if size > 1 else 0.0


def power_law(tasks: int, cores: int, seed: int) -> TaskGraph:
    """Preferential attachment: each task sends to four earlier ones, often to popular ones."""
    random = np.random.default_rng(seed)
    ends = np.zeros(8 * tasks, np.int64)
    for task in range(1, tasks):
        # A random end of earlier messages: a task is chosen in proportion to its messages.
        for k in range(4):
            at = 8 * (task - 1) + 2 * k
            ends[at] = task
            ends[at + 1] = ends[random.integers(0, max(8 * (task - 1), 1))] % task
    pairs = ends[: 8 * (tasks - 1)].reshape(-1, 2)
    loads = random.lognormal(0.0, 0.6, tasks) * 1e-2
    return _both_ways(loads, cores, pairs[:, 0], pairs[:, 1])


def at_random(tasks: int, cores: int, seed: int) -> TaskGraph:
    """Four messages from each task to random others."""
    random = np.random.default_rng(seed)
    sender = np.repeat(np.arange(tasks), 4)
    loads = random.lognormal(0.0, 0.6, tasks) * 1e-2
    return _both_ways(loads, cores, sender, random.integers(0, tasks, len(sender)))


def _both_ways(loads: Floats, cores: int, left: Integers, right: Integers) -> TaskGraph:
    different = left != right
    left, right = left[different], right[different]
    return task_graph(
        loads, generated.blocks(len(loads), cores),
        np.concatenate([left, right]), np.concatenate([right, left]),
    )  # fmt: skip


KINDS: dict[str, Callable[[int, int, int], TaskGraph]] = {
    "mesh": mesh,
    "AMR": amr,
    "power law": power_law,
    "random": at_random,
}
