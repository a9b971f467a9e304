# SPDX-License-Identifier: Apache-2.0
"""Groups threads by node: threads that use the same parts of structures run together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape.balance.graph import Floats, Integers, task_graph
from numascape.balance.mapping import OURS, Options, Problem
from numascape.balance.target import Target
from numascape.machine import Machine
from numascape.machine.kernel_lists import format_cpu_list
from numascape.placement.structure_use import StructureUse
from numascape.plan.plan import ThreadRule

BUSY: Final = 0.2
"""Share of the mean thread's accesses below which a thread only waits, and needs no core."""


@dataclass(frozen=True, eq=False)
class ThreadGroups:
    """The node of each of a program's threads, as a position in the machine's nodes.

    `nodes` has a value for each thread of the trace, -1 for those of other processes.
    """

    threads: Integers
    busy: npt.NDArray[np.bool_]
    nodes: Integers

    def rules(self, machine: Machine) -> tuple[ThreadRule, ...]:
        """One rule for each node with threads: they may use all CPUs of the node.

        Threads that are bound to a node, and not to a core, find idle cores even if there are more
        threads than recorded.
        """
        usable = set(machine.usable_cpus)
        rules = []
        for position, node in enumerate(machine.nodes):
            orders = np.flatnonzero(self.nodes[self.threads] == position)
            if len(orders):
                cpus = tuple(sorted(set(node.cpus) & usable))
                order = format_cpu_list(int(number) for number in orders)
                rules.append(ThreadRule(cpus, order=order, together=True))
        return tuple(rules)


def possible_groups(
    uses: Sequence[StructureUse],
    threads: Integers,
    work: Floats,
    every: int,
    target: Target,
    node_of: Integers,
) -> list[ThreadGroups]:
    """Candidate divisions of the program's `threads` among nodes, simple ones first.

    The first divides threads in order of creation over all cores. The second divides them by shared
    memory, over as many cores as needed, the same number on each node. The third divides them by
    shared memory over all cores. No core gets more threads than necessary. `work` is the threads'
    accesses, `every` the number of threads of the trace, `node_of` the position of each of the
    target's nodes in the machine.
    """
    shared = _sharing(uses, threads, every)
    busy = work >= BUSY * work.mean()
    workers = int(busy.sum())
    core_node = target.core_node.astype(np.int64)
    in_order = np.arange(workers) * target.cores // workers
    divisions = [core_node[in_order]]
    for cores in _core_choices(core_node, workers):
        part = Target(target.name, core_node[cores].astype(np.uint32), target.factor)
        divisions.append(_by_sharing(shared[np.ix_(busy, busy)], part))
    found: list[ThreadGroups] = []
    for division in divisions:
        nodes = np.full(every, -1, np.int64)
        nodes[threads[busy]] = node_of[division]
        closeness = np.zeros((len(threads), target.nodes))
        np.add.at(closeness.T, division, shared[:, busy].T)
        idle = closeness[~busy]
        # Take the first of about equally close nodes, so that small differences do not decide.
        close = idle >= 0.9 * idle.max(axis=1, keepdims=True)
        nodes[threads[~busy]] = node_of[close.argmax(axis=1)]
        if not any(np.array_equal(nodes, other.nodes) for other in found):
            found.append(ThreadGroups(threads, busy, nodes))
    return found


def as_seen(groups: ThreadGroups, observed: Integers) -> ThreadGroups | None:
    """The groups in which the threads ran, by position; None if they moved between nodes."""
    nodes = np.full(len(groups.nodes), -1, np.int64)
    nodes[groups.threads] = observed[groups.threads]
    if (nodes[groups.threads] < 0).any():
        return None
    return ThreadGroups(groups.threads, groups.busy, nodes)


def _sharing(uses: Sequence[StructureUse], threads: Integers, every: int) -> Floats:
    """For each pair of threads, the lines that both use of the same parts of structures.

    Phases in which one thread works alone do not count.
    """
    rank = np.full(every, -1)
    rank[threads] = np.arange(len(threads))
    shared = np.zeros((len(threads), len(threads)))
    for use in uses:
        inside = (rank[use.thread] >= 0) & (use.serial == 0)
        part, thread = use.part[inside], rank[use.thread[inside]]
        lines = use.lines[inside]
        # Rows are sorted by part: pair each row with the later rows of its part.
        here: Integers = np.arange(len(part))
        apart = 1
        while True:
            here = here[here + apart < len(part)]
            here = here[part[here] == part[here + apart]]
            if not len(here):
                break
            least = np.minimum(lines[here], lines[here + apart])
            np.add.at(shared, (thread[here], thread[here + apart]), least)
            apart += 1
    return shared + shared.T


def _core_choices(core_node: Integers, workers: int) -> list[Integers]:
    """The sets of cores to try: as many of each node as the threads need, and all cores."""
    within: Integers = np.zeros(len(core_node), np.int64)
    for node in np.unique(core_node):
        within[core_node == node] = np.arange((core_node == node).sum())
    fewest = 1
    while (within < fewest).sum() < min(workers, len(core_node)):
        fewest += 1
    few = np.flatnonzero(within < fewest)
    return [few] if len(few) == len(core_node) else [few, np.arange(len(core_node))]


def _by_sharing(shared: Floats, target: Target) -> Integers:
    """The node of each thread by the balancer, with as few threads per core as possible."""
    threads = len(shared)
    sender, receiver = shared.nonzero()
    most = -(-threads // target.cores)
    graph = task_graph(
        np.ones(threads),
        np.arange(threads) * target.cores // threads,
        sender,
        receiver,
        count=shared[sender, receiver] / 2,
    )
    allowed = most * target.cores / threads
    options = Options(migration_price=0.0, max_imbalance=allowed)
    mapping = Problem(graph, target).run(OURS, options).mapping.astype(np.int64)
    if np.bincount(mapping, minlength=target.cores).max() > most:
        mapping = graph.core.astype(np.int64)
    return target.core_node.astype(np.int64)[mapping]
