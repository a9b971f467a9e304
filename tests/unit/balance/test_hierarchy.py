# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np

from numascape.balance import Options, Problem, flat_target
from numascape.balance.generators import mesh
from numascape.balance.hierarchy import balance_by_groups


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
