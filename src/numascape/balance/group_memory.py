# SPDX-License-Identifier: Apache-2.0
"""The memory of tasks and cores while groups of nodes are balanced (hierarchy.py).

Groups see less than the whole: a chunk of tasks has one sum of memory, and the tasks of a group
may not fit into its own cores. The limits here are therefore goals that can always be met. The
limits of the whole mapping are checked, and kept, at the end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from numascape.balance.graph import NO_BLOCK, Floats, Integers, TaskGraph, no_floats
from numascape.balance.target import Target

_ROUNDING = 1 + 1e-9


def with_memory(part: TaskGraph, graph: TaskGraph, tasks: Integers) -> TaskGraph:
    """`part` with the working memory and the blocks of its `tasks`, which are those in `graph`."""
    if len(graph.working):
        part = replace(part, working=graph.working[tasks])
    if not len(graph.block):
        return part
    block = graph.block[tasks]
    shared = block != NO_BLOCK
    kept, number = np.unique(block[shared], return_inverse=True)
    block[shared] = number
    return replace(part, block=block, block_bytes=graph.block_bytes[kept])


def sums(places: Integers, values: Floats, size: int) -> Floats:
    """For each place, the sum of the values that are there."""
    return np.bincount(places, values, size).astype(np.float64)


def units(graph: TaskGraph, largest: float) -> Integers:
    """A number for each task; tasks with the same number should stay together.

    These are the tasks on one core that share a block: together, they need its memory once. If
    their load is more than `largest`, each of them has its own number.
    """
    alone = np.arange(graph.tasks)
    if not len(graph.block):
        return alone
    shared = graph.block != NO_BLOCK
    pair = graph.core.astype(np.int64) * len(graph.block_bytes) + graph.block
    pair = np.where(shared, pair, -1 - alone)
    number = np.unique(pair, return_inverse=True)[1]
    heavy = np.bincount(number, graph.load) > largest
    split = np.where(heavy[number], len(heavy) + alone, number)
    unit: Integers = np.unique(split, return_inverse=True)[1].astype(np.int64)
    return unit


def chunk_memory(graph: TaskGraph, chunk: Integers, chunks: int) -> tuple[Floats, Floats]:
    """The bytes that each chunk holds, each block once, and the most that one of its tasks adds."""
    held, working = no_floats(), no_floats()
    if len(graph.memory) or len(graph.block):
        held = sums(chunk, graph.memory if len(graph.memory) else np.zeros(graph.tasks), chunks)
    if len(graph.block):
        shared = graph.block != NO_BLOCK
        blocks = max(1, len(graph.block_bytes))
        pairs = np.unique(chunk[shared] * blocks + graph.block[shared])
        held += sums(pairs // blocks, graph.block_bytes[pairs % blocks], chunks)
    if len(graph.working):
        working = np.zeros(chunks)
        np.maximum.at(working, chunk, graph.working)
    return held, working


def group_limits(room: Floats, held: Floats) -> Floats:
    """The memory that the chunks of each group may use.

    It is the group's part of the memory of all chunks, and half of the room that is then left. A
    group's cores cannot be filled completely, because tasks do not fit everywhere.
    """
    all_room = max(float(room.sum()), 1.0)
    share = float(held.sum()) / all_room
    return room * max(share, (1 + share) / 2) * _ROUNDING


def possible_limits(graph: TaskGraph, limits: Floats, taken: Floats) -> Floats:
    """The limits of cores, raised if all tasks together, or the largest one, would exceed them."""
    held = chunk_memory(graph, np.zeros(graph.tasks, np.int64), 1)[0]
    own = np.zeros(graph.tasks)
    for values in (graph.memory, graph.working):
        if len(values):
            own += values
    if len(graph.block):
        shared = graph.block != NO_BLOCK
        own[shared] += graph.block_bytes[graph.block[shared]]
    used = taken if len(taken) else np.zeros(len(limits))
    needed = float(held.sum())
    if np.maximum(0, limits - used).sum() < needed:
        limits = np.maximum(limits, used + needed / len(limits) * _ROUNDING)
    largest = float(own.max(initial=0.0)) * _ROUNDING
    widest = int(np.argmax(limits - used))
    raised: Floats = limits.copy()
    raised[widest] = max(raised[widest], used[widest] + largest)
    return raised


def cores_with_room(target: Target, core: Integers, held: Floats, arriving: Floats) -> Integers:
    """A core for each arriving task.

    If nodes have limits of memory, cores get tasks by the room that is left; otherwise in turn.
    `core` and `held` are the cores and the memory of the tasks that are already there.
    """
    in_turn = np.arange(len(arriving)) % target.cores
    needed = float(arriving.sum())
    if not len(target.node_memory) or not needed:
        return in_turn
    node = target.core_node.astype(np.int64)
    room = np.maximum(0.0, target.node_memory - sums(node[core], held, target.nodes))
    of_core = (room / np.maximum(1, np.bincount(node, minlength=target.nodes)))[node]
    if not of_core.sum():
        return in_turn
    # The tasks fill the cores one after the other. Each core gets the same share of its room.
    ends = np.cumsum(of_core) / of_core.sum()
    middles = (np.cumsum(arriving) - arriving / 2) / needed
    return np.minimum(np.searchsorted(ends, middles), target.cores - 1).astype(np.int64)
