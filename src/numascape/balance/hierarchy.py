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
    node_group = np.arange(target.nodes) * groups // target.nodes
    core_group = node_group[target.core_node]
    before = core_group[graph.core]
    chunk = _chunks(graph, target, before, groups, executor)
    after = _across_groups(graph, target, core_group, before, chunk, groups, chosen)
    mapping = graph.core.copy()
    pieces = list(_pieces(graph, target, core_group, after, groups, chosen))
    cores_of = [np.nonzero(core_group == g)[0] for g in range(groups)]
    for g, (piece, found) in enumerate(zip(pieces, executor.map(_balance, pieces), strict=True)):
        mapping[piece.tasks] = cores_of[g][found]
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


def _chunks(
    graph: TaskGraph, target: Target, group: Integers, groups: int, executor: Executor
) -> Integers:
    """A chunk number for each task; the tasks of a chunk move together."""
    members = [np.nonzero(group == g)[0] for g in range(groups)]
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
    graph: TaskGraph,
    target: Target,
    core_group: Integers,
    before: Integers,
    chunk: Integers,
    groups: int,
    options: Options,
) -> Integers:
    """The group of each task after whole chunks were balanced across groups."""
    size = groups * CHUNKS
    load = np.bincount(chunk, graph.load, size)
    held = np.zeros(size, bool)
    if len(graph.fixed):
        held[chunk[graph.fixed.astype(bool)]] = True
    count = graph.count if len(graph.count) else np.ones(graph.messages)
    coarse = task_graph(
        load, np.arange(size) // CHUNKS, chunk[graph.senders], chunk[graph.to],
        count=count, fixed=held,
    )  # fmt: skip
    cores = np.bincount(core_group, minlength=groups).astype(float)
    node_group = np.arange(target.nodes) * groups // target.nodes
    member = np.eye(groups)[node_group]
    per_group = member.sum(axis=0)
    factor = member.T @ target.factor @ member / np.outer(per_group, per_group)
    np.fill_diagonal(factor, 1.0)
    machine = Target("groups", np.arange(groups, dtype=np.uint32), factor, speed=cores)
    found = Problem(coarse, machine).run(OURS, replace(options, max_imbalance=ACROSS))
    return found.mapping[chunk].astype(np.int64)


def _pieces(
    graph: TaskGraph,
    target: Target,
    core_group: Integers,
    group: Integers,
    groups: int,
    options: Options,
) -> Iterator[_Group]:
    """Put each group's tasks on its own cores; tasks from other groups go to its cores in turn."""
    place = np.zeros(target.cores, np.int64)
    for g in range(groups):
        cores = np.nonzero(core_group == g)[0]
        place[cores] = np.arange(len(cores))
        tasks = np.nonzero(group == g)[0]
        stays = core_group[graph.core[tasks]] == g
        core = np.where(stays, place[graph.core[tasks]], np.arange(len(tasks)) % len(cores))
        nodes, node = np.unique(target.core_node[cores], return_inverse=True)
        part = Target(
            target.name, node.astype(np.uint32), target.factor[np.ix_(nodes, nodes)],
            speed=target.speed[cores] if len(target.speed) else target.speed,
        )  # fmt: skip
        piece = _subgraph(graph, tasks, core.astype(np.uint32))
        if len(graph.background):
            piece = replace(piece, background=graph.background[cores])
        yield _Group(tasks, piece, part, options)


def _balance(piece: _Group) -> Cores:
    return Problem(piece.graph, piece.target).run(OURS, piece.options).mapping
