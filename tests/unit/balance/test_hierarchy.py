# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from numascape.balance import Options, Problem, TaskGraph, flat_target, task_graph
from numascape.balance.generators import mesh
from numascape.balance.graph import NO_BLOCK
from numascape.balance.hierarchy import balance_by_groups
from numascape.errors import NumascapeError


def test_groups_do_as_well_as_one_search_over_all() -> None:
    graph, target = mesh(64, 32), flat_target(8, 4, 2.5)
    problem = Problem(graph, target)
    assert problem.measure(graph.core).imbalance > 1.1
    flat = problem.run("incumbent", Options(effort=0.2))
    with ThreadPoolExecutor(2) as executor:
        grouped = balance_by_groups(graph, target, 4, executor, Options(effort=0.2))
    assert grouped.metrics.imbalance <= 1.05 * flat.metrics.imbalance
    assert grouped.metrics.communication <= 1.05 * flat.metrics.communication


def test_processes_give_what_threads_give() -> None:
    graph, target = mesh(20, 8), flat_target(4, 2, 2.0)
    with ProcessPoolExecutor(2) as processes, ThreadPoolExecutor(2) as threads:
        one = balance_by_groups(graph, target, 2, processes)
        other = balance_by_groups(graph, target, 2, threads)
    assert np.array_equal(one.mapping, other.mapping)


def test_fixed_tasks_stay() -> None:
    graph, target = mesh(20, 8), flat_target(4, 2, 2.0)
    fixed = np.zeros(400, np.uint8)
    fixed[::50] = 1
    held = type(graph)(**{**vars(graph), "fixed": fixed})
    with ThreadPoolExecutor(1) as executor:
        found = balance_by_groups(held, target, 2, executor)
    assert (found.mapping[::50] == graph.core[::50]).all()


def tasks_with_memory(seed: int, cores: int) -> TaskGraph:
    """Tasks that share blocks, most of them on the first cores, and processes of some size."""
    random = np.random.default_rng(seed)
    tasks, blocks = 24 * cores, 3 * cores
    block = random.integers(0, blocks, tasks).astype(np.uint32)
    block[random.random(tasks) < 0.3] = NO_BLOCK
    core = block % cores * (random.random(tasks) < 0.8)
    graph = task_graph(
        random.lognormal(0.0, 0.5, tasks), core % cores,
        random.integers(0, tasks, 2 * tasks), random.integers(0, tasks, 2 * tasks),
        memory=random.integers(1, 6, tasks),
    )  # fmt: skip
    return replace(
        graph,
        working=random.integers(0, 5, tasks).astype(np.float64),
        block=block,
        block_bytes=random.integers(5, 30, blocks).astype(np.float64),
        core_memory_taken=random.integers(0, 3, cores).astype(np.float64),
    )


def least_memory(graph: TaskGraph, cores: int) -> float:
    """The need of each core if all memory could be divided: no mapping can keep a lower limit."""
    used = graph.core_memory_taken.sum() + graph.memory.sum()
    return (
        float(used + graph.block_bytes[np.unique(graph.block[graph.block != NO_BLOCK])].sum())
        / cores
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("room", [1.25, 1.6])
def test_the_memory_of_cores_is_kept_in_groups(seed: int, room: float) -> None:
    cores = 12
    graph = tasks_with_memory(seed, cores)
    limit = room * least_memory(graph, cores)
    target = replace(flat_target(6, 2, 2.0), core_memory=np.full(cores, limit))
    problem, options = Problem(graph, target), Options(effort=0.1)
    assert problem.measure(graph.core).cores_over > 0
    assert problem.run("incumbent", options).metrics.cores_over == 0
    with ThreadPoolExecutor(2) as executor:
        grouped = balance_by_groups(graph, target, 3, executor, options)
    assert grouped.metrics.cores_over == 0


def test_a_limit_that_cannot_be_kept_is_told_before_any_work() -> None:
    graph = tasks_with_memory(1, 4)
    limit = 0.9 * least_memory(graph, 4)
    target = replace(flat_target(2, 2, 2.0), core_memory=np.full(4, limit))
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(NumascapeError, match=r"the tasks need .* together"),
    ):
        balance_by_groups(graph, target, 2, executor)


def test_the_memory_of_nodes_is_kept_in_groups() -> None:
    graph = task_graph(np.ones(400), np.arange(400) % 2, memory=np.full(400, 10.0))
    memory = np.array([2000.0, 2000.0, 300.0, 300.0])
    target = replace(flat_target(4, 2, 2.0), node_memory=memory)
    with ThreadPoolExecutor(1) as executor:
        found = balance_by_groups(graph, target, 2, executor)
    needed = np.bincount(target.core_node[found.mapping], graph.memory, 4)
    assert found.metrics.migrations > 0
    # The first node is too full now.
    assert (needed[1:] <= memory[1:]).all()


@pytest.mark.parametrize("cap", [0, 40, 150])
def test_all_groups_together_keep_a_limit_on_migrations(cap: int) -> None:
    graph, target = mesh(40, 16), flat_target(8, 2, 2.0)
    graph.load[:400] *= 3
    now = Problem(graph, target).measure(graph.core).imbalance
    with ThreadPoolExecutor(1) as executor:
        found = balance_by_groups(graph, target, 4, executor, Options(max_migrations=cap))
    assert found.metrics.migrations <= cap
    assert (found.metrics.imbalance < now) == (cap > 0)


def test_groups_know_what_messages_cost() -> None:
    """Messages without bytes cost nothing here, so only pairs with bytes should stay together."""
    graph, target = mesh(24, 8), flat_target(4, 2, 2.0)
    costs = np.zeros(graph.messages)
    costs[graph.senders // 24 == graph.to // 24] = 1.0
    graph = replace(graph, bytes=costs)
    by_bytes = Problem(graph, target, 0.0, 1.0)
    options = Options(iterations=100.0)
    with ThreadPoolExecutor(1) as executor:
        told = balance_by_groups(graph, target, 2, executor, options, by_bytes)
        untold = balance_by_groups(graph, target, 2, executor, options)
    untold_cost = by_bytes.measure(untold.mapping).communication
    assert told.metrics.communication < untold_cost
