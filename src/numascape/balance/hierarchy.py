# SPDX-License-Identifier: Apache-2.0
"""Balancing by groups of nodes, in as many processes as an executor has.

This is for machines that are too large for one process. Each group of nodes divides its tasks into
chunks that communicate little with each other. The chunks are balanced across groups. Then each
group balances its tasks over its own cores. The balancing across groups sees only chunks. Any
concurrent.futures.Executor can do the work of the groups: a pool of processes, or
mpi4py.futures.MPIPoolExecutor on all nodes of an MPI job.

Limits of memory are respected as in a single search. If cores exceed them after all groups are
balanced, tasks move between groups. If this is not enough, all tasks are balanced at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from numascape.balance.graph import Cores, Floats, Integers, TaskGraph, no_floats, task_graph
from numascape.balance.group_memory import (
    chunk_memory,
    cores_with_room,
    group_limits,
    possible_limits,
    sums,
    units,
    with_memory,
)
from numascape.balance.mapping import OURS, Balanced, Options, Problem
from numascape.balance.target import Target, flat_target

CHUNKS = 64
"""Chunks of a group. Each has about 1.6 % of its load, and can move to another group as a whole."""
ACROSS = 1.02
"""Allowed imbalance among groups; the rest of the allowed imbalance is for the cores in a group."""
INFINITE = float("inf")


@dataclass(frozen=True, eq=False)
class _NodeGroups:
    """The nodes of a target in groups of consecutive nodes; `of_core` is the group of each core."""

    target: Target
    number: int
    of_node: Integers
    of_core: Integers

    @classmethod
    def divide(cls, target: Target, number: int) -> _NodeGroups:
        """Divide the nodes into groups of nearly equal size."""
        of_node = np.arange(target.nodes) * number // target.nodes
        return cls(target, number, of_node, of_node[target.core_node])

    def cores(self, group: int) -> Integers:
        """The cores of a group."""
        return np.flatnonzero(self.of_core == group)

    def as_cores(self) -> Target:
        """A target whose cores are the groups, as fast and as far apart as these on average."""
        target = self.target
        member = np.eye(self.number)[self.of_node]
        nodes = member.sum(axis=0)
        factor = self._sums_of_factors(member) / np.outer(nodes, nodes)
        np.fill_diagonal(factor, [self._least_cost(g) for g in range(self.number)])
        speed = self._sums(target.speed if len(target.speed) else np.ones(target.cores))
        memory = target.node_memory
        return Target(
            "groups", np.arange(self.number, dtype=np.uint32), factor, speed=speed,
            node_memory=sums(self.of_node, memory, self.number) if len(memory) else memory,
        )  # fmt: skip

    def _sums_of_factors(self, member: Floats) -> Floats:
        """The sums of the factors of all pairs of nodes, for each pair of groups."""
        target, inner = self.target, self.target.inner
        if inner is None:
            return member.T @ target.factor @ member
        of_row = _sums_of_rows(inner.row, member, len(target.factor))
        total = of_row.T @ target.factor @ of_row
        around = np.diag(target.factor)[inner.row]
        for group, cost in zip(inner.group[::-1], inner.cost[::-1], strict=True):
            # Within a group of this level, a message costs less than on the next coarser level.
            groups = int(group.max()) + 1
            less = np.zeros(groups)
            less[group] = cost - around
            inside = _sums_of_rows(group, member, groups)
            total += inside.T @ (less[:, None] * inside)
            around = np.full(len(group), cost)
        return total

    def background(self, of_cores: Floats) -> Floats:
        """The time per iteration of each group's other work, if all its cores share it."""
        if not len(of_cores):
            return of_cores
        speed = self.target.speed if len(self.target.speed) else np.ones(self.target.cores)
        shared: Floats = self._sums(of_cores * speed) / self._sums(speed)
        return shared

    def room(self, taken: Floats) -> Floats:
        """The memory for tasks of each group's cores."""
        used = taken if len(taken) else np.zeros(self.target.cores)
        return self._sums(np.maximum(0.0, self.target.core_memory - used))

    def _sums(self, of_cores: Floats) -> Floats:
        return sums(self.of_core, of_cores, self.number)

    def _least_cost(self, group: int) -> float:
        """The lowest cost of a message within the group."""
        if self.target.inner is not None:
            return float(self.target.inner.cost[0])
        here = self.of_node == group
        return float(self.target.factor[np.ix_(here, here)].min())

    def part(self, group: int) -> Target:
        """The target that consists of the cores of a group."""
        target, cores = self.target, self.cores(group)
        nodes, node = np.unique(target.core_node[cores].astype(np.int64), return_inverse=True)

        def of(values: Floats, kept: Integers) -> Floats:
            return values[kept] if len(values) else values

        rows, inner = (nodes, None) if target.inner is None else target.inner.part(nodes)
        return Target(
            target.name, node.astype(np.uint32), target.factor[np.ix_(rows, rows)],
            speed=of(target.speed, cores), node_memory=of(target.node_memory, nodes),
            core_memory=of(target.core_memory, cores), inner=inner,
        )  # fmt: skip


def _sums_of_rows(places: npt.NDArray[np.uint32], rows: Floats, size: int) -> Floats:
    """For each place, the sum of the rows that are there."""
    result = np.zeros((size, rows.shape[1]))
    np.add.at(result, places, rows)
    return result


@dataclass(frozen=True, eq=False)
class _Group:
    """The tasks of a group with the messages among them, and the group's part of the target."""

    tasks: Integers
    graph: TaskGraph
    target: Target
    options: Options
    message_costs: tuple[float, float]


def balance_by_groups(
    graph: TaskGraph,
    target: Target,
    groups: int,
    executor: Executor,
    options: Options | None = None,
    measured_by: Problem | None = None,
) -> Balanced:
    """Map tasks by `groups` of consecutive nodes; the metrics are those of the whole mapping.

    `measured_by`: the same tasks and target with other costs of messages. Raises NumascapeError if
    no mapping can keep the limits of memory.
    """
    start = time.perf_counter()
    chosen = options or Options()
    whole = measured_by or Problem(graph, target)
    whole.check_core_memory()
    divided = _NodeGroups.divide(target, groups)
    chunk = _chunks(whole, divided, executor)
    after = _across_groups(whole, divided, chunk, chosen)
    mapping = graph.core.copy()
    pieces = list(_pieces(whole, divided, after, chosen))
    for g, (piece, found) in enumerate(zip(pieces, executor.map(_balance, pieces), strict=True)):
        mapping[piece.tasks] = divided.cores(g)[found]
    mapping = _within_memory(whole, mapping, chosen)
    took = time.perf_counter() - start
    return Balanced(f"{OURS} by groups", mapping, whole.measure(mapping), took)


def _within_memory(whole: Problem, mapping: Cores, options: Options) -> Cores:
    """The mapping, changed if cores exceed their memory and need cores of other groups."""
    if not len(whole.target.core_memory) or not whole.measure(mapping).cores_over:
        return mapping
    mapping = whole.keep_core_memory(mapping, options)
    if not whole.measure(mapping).cores_over:
        return mapping
    return whole.run(OURS, options, mapping).mapping


def _subgraph(graph: TaskGraph, tasks: Integers, core: Cores) -> TaskGraph:
    """The tasks and the messages among them, renumbered."""
    place = np.full(graph.tasks, -1, np.int64)
    place[tasks] = np.arange(len(tasks))
    sender, receiver = place[graph.senders], place[graph.to]
    inside = (sender >= 0) & (receiver >= 0)

    def of(values: npt.NDArray[Any], kept: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
        return values[kept] if len(values) else None

    part = task_graph(
        graph.load[tasks], core, sender[inside], receiver[inside],
        bytes=of(graph.bytes, inside), count=of(graph.count, inside), fixed=of(graph.fixed, tasks),
        migrated_bytes=of(graph.migrated_bytes, tasks), memory=of(graph.memory, tasks),
    )  # fmt: skip
    return with_memory(part, graph, tasks)


def _chunks(whole: Problem, groups: _NodeGroups, executor: Executor) -> Integers:
    """A chunk number for each task; the tasks of a chunk move together."""
    graph = whole.graph
    group = groups.of_core[graph.core]
    members = [np.flatnonzero(group == g) for g in range(groups.number)]
    limited = bool(len(groups.target.core_memory))
    pieces = [
        _Uncut(_subgraph(graph, tasks, graph.core[tasks]), limited, whole.message_costs)
        for tasks in members
    ]
    chunk = np.zeros(graph.tasks, np.int64)
    for g, (tasks, parts) in enumerate(zip(members, executor.map(_cut, pieces), strict=True)):
        chunk[tasks] = g * CHUNKS + parts
    return chunk


@dataclass(frozen=True, eq=False)
class _Uncut:
    """The tasks of a group. If memory is limited, those that share a block stay in one chunk."""

    graph: TaskGraph
    limited: bool
    message_costs: tuple[float, float]


def _cut(piece: _Uncut) -> Integers:
    graph = piece.graph
    largest = float(graph.load.sum()) / CHUNKS
    unit = units(graph, largest) if piece.limited else np.arange(graph.tasks)
    number = int(unit.max(initial=-1)) + 1
    joined = task_graph(
        np.bincount(unit, graph.load, number), np.zeros(number), unit[graph.senders],
        unit[graph.to], bytes=graph.bytes if len(graph.bytes) else None, count=_counts(graph),
    )  # fmt: skip
    problem = Problem(joined, flat_target(1, CHUNKS, 1.0), *piece.message_costs)
    return problem.run("recbipart").mapping[unit].astype(np.int64)


def _counts(graph: TaskGraph) -> Floats:
    return graph.count if len(graph.count) else np.ones(graph.messages)


def _across_groups(
    whole: Problem, groups: _NodeGroups, chunk: Integers, options: Options
) -> Integers:
    """The group of each task after whole chunks were balanced across groups."""
    graph, size = whole.graph, groups.number * CHUNKS
    held = np.zeros(size, bool)
    if len(graph.fixed):
        held[chunk[graph.fixed.astype(bool)]] = True
    memory, working = chunk_memory(graph, chunk, size)
    moved, capped = _caps_by_chunk(graph, chunk, size, options)
    coarse = task_graph(
        np.bincount(chunk, graph.load, size), np.arange(size) // CHUNKS, chunk[graph.senders],
        chunk[graph.to], bytes=graph.bytes if len(graph.bytes) else None, count=_counts(graph),
        fixed=held, memory=memory, migrated_bytes=moved,
    )  # fmt: skip
    coarse = replace(coarse, working=working, background=groups.background(graph.background))
    target = groups.as_cores()
    if len(groups.target.core_memory):
        limits = group_limits(groups.room(graph.core_memory_taken), memory)
        limits = possible_limits(coarse, limits, no_floats())
        target = replace(target, core_memory=limits)
    chosen = replace(capped, max_imbalance=ACROSS)
    found = Problem(coarse, target, *whole.message_costs).run(OURS, chosen)
    return found.mapping[chunk].astype(np.int64)


def _caps_by_chunk(
    graph: TaskGraph, chunk: Integers, size: int, options: Options
) -> tuple[Floats, Options]:
    """The bytes of each chunk's migration, and options for chunks.

    If there are caps, the numbers are not bytes, but shares: the part of a cap that the chunk's
    migration needs. Of the two caps, the one with the larger share counts.
    """
    size_of = sums(chunk, np.ones(graph.tasks), size)
    carried = graph.migrated_bytes if len(graph.migrated_bytes) else np.zeros(graph.tasks)
    bytes_of = sums(chunk, carried, size)
    caps = (options.max_migrations, options.max_migrated_bytes)
    if min(caps) == INFINITE:
        return bytes_of, options
    shares = np.maximum(size_of / max(caps[0], 1e-9), bytes_of / max(caps[1], 1e-9))
    chosen = replace(options, max_migrations=INFINITE, max_migrated_bytes=1.0, byte_price=0.0)
    return shares, chosen


def _left_for_groups(
    graph: TaskGraph, groups: _NodeGroups, after: Integers, options: Options
) -> list[Options]:
    """Options for each group: the groups share what is left of the caps after moves between them.

    A group's part is in proportion to the load by which its cores exceed a mean core.
    """
    if min(options.max_migrations, options.max_migrated_bytes) == INFINITE:
        return [options] * groups.number
    moves = groups.of_core[graph.core] != after
    carried = float(graph.migrated_bytes[moves].sum()) if len(graph.migrated_bytes) else 0.0
    tasks = max(0.0, options.max_migrations - float(moves.sum()))
    carried = max(0.0, options.max_migrated_bytes - carried)
    time = sums(graph.core[~moves], graph.load[~moves], groups.target.cores)
    beyond = np.maximum(0.0, time - graph.load.sum() / groups.target.cores)
    needs = sums(groups.of_core, beyond, groups.number)
    shares = needs / needs.sum() if needs.sum() > 0 else np.full(groups.number, 1 / groups.number)
    return [
        replace(
            options,
            max_migrations=np.floor(tasks * s) if tasks < INFINITE else tasks,
            max_migrated_bytes=carried * s if carried < INFINITE else carried,
        )
        for s in shares.tolist()
    ]


def _pieces(
    whole: Problem, groups: _NodeGroups, group: Integers, options: Options
) -> Iterator[_Group]:
    """Put each group's tasks on its own cores; those from other groups go to cores with room."""
    graph = whole.graph
    place = np.zeros(groups.target.cores, np.int64)
    for g, chosen in enumerate(_left_for_groups(graph, groups, group, options)):
        cores = groups.cores(g)
        place[cores] = np.arange(len(cores))
        tasks = np.flatnonzero(group == g)
        stays = groups.of_core[graph.core[tasks]] == g
        target = groups.part(g)
        core = place[graph.core[tasks]]
        memory = graph.memory[tasks] if len(graph.memory) else np.zeros(len(tasks))
        core[~stays] = cores_with_room(target, core[stays], memory[stays], memory[~stays])
        piece = _subgraph(graph, tasks, core.astype(np.uint32))
        if len(graph.background):
            piece = replace(piece, background=graph.background[cores])
        if len(target.core_memory):
            if len(graph.core_memory_taken):
                piece = replace(piece, core_memory_taken=graph.core_memory_taken[cores])
            limits = possible_limits(piece, target.core_memory, piece.core_memory_taken)
            target = replace(target, core_memory=limits)
        yield _Group(tasks, piece, target, chosen, whole.message_costs)


def _balance(piece: _Group) -> Cores:
    problem = Problem(piece.graph, piece.target, *piece.message_costs)
    return problem.run(OURS, piece.options).mapping
