# SPDX-License-Identifier: Apache-2.0
"""Balancing by groups of nodes, in as many processes as an executor has.

This is for machines that are too large for one process. Each group of nodes divides its tasks into
chunks that communicate little with each other. The chunks are balanced across groups. Then each
group balances its tasks over its own cores. The balancing across groups sees only chunks. Any
concurrent.futures.Executor can do the work of the groups: a pool of processes, or
mpi4py.futures.MPIPoolExecutor on all nodes of an MPI job.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from numascape.balance.graph import Cores, Integers, TaskGraph, task_graph
from numascape.balance.mapping import OURS, Balanced, Options, Problem
from numascape.balance.target import Target, flat_target

CHUNKS = 64
"""Chunks of a group. Each has about 1.6 % of its load, and can move to another group as a whole."""
ACROSS = 1.02
"""Allowed imbalance among groups; the rest of the allowed imbalance is for the cores in a group."""


@dataclass(frozen=True, eq=False)
class _NodeGroups:
    """The nodes of a target in groups of consecutive nodes; `of_core` is the group of each core."""

    target: Target
    number: int
    of_node: Integers
    of_core: Integers

    @classmethod
    def divide(cls, target: Target, number: int) -> _NodeGroups:
        """Groups of about as many nodes."""
        of_node = np.arange(target.nodes) * number // target.nodes
        return cls(target, number, of_node, of_node[target.core_node])

    def cores(self, group: int) -> Integers:
        """The cores of a group."""
        return np.flatnonzero(self.of_core == group)

    def as_cores(self) -> Target:
        """A target whose cores are the groups, as fast and as far apart as these on average."""
        member = np.eye(self.number)[self.of_node]
        nodes = member.sum(axis=0)
        factor = member.T @ self.target.factor @ member / np.outer(nodes, nodes)
        np.fill_diagonal(factor, 1.0)
        speed = np.bincount(self.of_core, minlength=self.number).astype(float)
        return Target("groups", np.arange(self.number, dtype=np.uint32), factor, speed=speed)

    def part(self, group: int) -> Target:
        """The target that consists of the cores of a group."""
        target, cores = self.target, self.cores(group)
        nodes, node = np.unique(target.core_node[cores], return_inverse=True)
        return Target(
            target.name, node.astype(np.uint32), target.factor[np.ix_(nodes, nodes)],
            speed=target.speed[cores] if len(target.speed) else target.speed,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Group:
    """The tasks of a group with the messages among them, and the group's part of the target."""

    tasks: Integers
    graph: TaskGraph
    target: Target
    options: Options


def balance_by_groups(
    graph: TaskGraph,
    target: Target,
    groups: int,
    executor: Executor,
    options: Options | None = None,
    measured_by: Problem | None = None,
) -> Balanced:
    """Map tasks by `groups` of consecutive nodes; the metrics are those of the whole mapping.

    `measured_by`: the same tasks and target with other costs of messages, for the metrics.
    """
    start = time.perf_counter()
    chosen = options or Options()
    divided = _NodeGroups.divide(target, groups)
    chunk = _chunks(graph, divided, executor)
    after = _across_groups(graph, divided, chunk, chosen)
    mapping = graph.core.copy()
    pieces = list(_pieces(graph, divided, after, chosen))
    for g, (piece, found) in enumerate(zip(pieces, executor.map(_balance, pieces), strict=True)):
        mapping[piece.tasks] = divided.cores(g)[found]
    took = time.perf_counter() - start
    whole = measured_by or Problem(graph, target)
    return Balanced(f"{OURS} by groups", mapping, whole.measure(mapping), took)


def _subgraph(graph: TaskGraph, tasks: Integers, core: Cores) -> TaskGraph:
    """The tasks and the messages among them, renumbered."""
    place = np.full(graph.tasks, -1, np.int64)
    place[tasks] = np.arange(len(tasks))
    sender, receiver = place[graph.senders], place[graph.to]
    inside = (sender >= 0) & (receiver >= 0)

    def of(values: npt.NDArray[Any], kept: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
        return values[kept] if len(values) else None

    return task_graph(
        graph.load[tasks], core, sender[inside], receiver[inside],
        bytes=of(graph.bytes, inside), count=of(graph.count, inside), fixed=of(graph.fixed, tasks),
        migrated_bytes=of(graph.migrated_bytes, tasks), memory=of(graph.memory, tasks),
    )  # fmt: skip


def _chunks(graph: TaskGraph, groups: _NodeGroups, executor: Executor) -> Integers:
    """A chunk number for each task; the tasks of a chunk move together."""
    group = groups.of_core[graph.core]
    members = [np.flatnonzero(group == g) for g in range(groups.number)]
    pieces = [
        _Group(tasks, _subgraph(graph, tasks, np.zeros(len(tasks), np.uint32)),
               flat_target(1, CHUNKS, 1.0), Options())
        for tasks in members
    ]  # fmt: skip
    chunk = np.zeros(graph.tasks, np.int64)
    for g, (piece, parts) in enumerate(zip(pieces, executor.map(_cut, pieces), strict=True)):
        chunk[piece.tasks] = g * CHUNKS + parts
    return chunk


def _cut(piece: _Group) -> Cores:
    free = replace(piece.graph, fixed=np.zeros(0, np.uint8))
    return Problem(free, piece.target).run("recbipart").mapping


def _across_groups(
    graph: TaskGraph, groups: _NodeGroups, chunk: Integers, options: Options
) -> Integers:
    """The group of each task after whole chunks were balanced across groups."""
    size = groups.number * CHUNKS
    load = np.bincount(chunk, graph.load, size)
    held = np.zeros(size, bool)
    if len(graph.fixed):
        held[chunk[graph.fixed.astype(bool)]] = True
    count = graph.count if len(graph.count) else np.ones(graph.messages)
    coarse = task_graph(
        load, np.arange(size) // CHUNKS, chunk[graph.senders], chunk[graph.to],
        count=count, fixed=held,
    )  # fmt: skip
    found = Problem(coarse, groups.as_cores()).run(OURS, replace(options, max_imbalance=ACROSS))
    return found.mapping[chunk].astype(np.int64)


def _pieces(
    graph: TaskGraph, groups: _NodeGroups, group: Integers, options: Options
) -> Iterator[_Group]:
    """Put each group's tasks on its own cores; tasks from other groups go to its cores in turn."""
    place = np.zeros(groups.target.cores, np.int64)
    for g in range(groups.number):
        cores = groups.cores(g)
        place[cores] = np.arange(len(cores))
        tasks = np.flatnonzero(group == g)
        stays = groups.of_core[graph.core[tasks]] == g
        core = np.where(stays, place[graph.core[tasks]], np.arange(len(tasks)) % len(cores))
        piece = _subgraph(graph, tasks, core.astype(np.uint32))
        if len(graph.background):
            piece = replace(piece, background=graph.background[cores])
        yield _Group(tasks, piece, groups.part(g), options)


def _balance(piece: _Group) -> Cores:
    return Problem(piece.graph, piece.target).run(OURS, piece.options).mapping
