# SPDX-License-Identifier: Apache-2.0
"""The simulator agrees with times that were computed by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from numascape.balance import flat_target, task_graph
from numascape.balance.generators import jacobi2d, lb_test
from numascape.balance.simulation import (
    COMMUNICATION,
    WORK,
    Costs,
    migration_time,
    simulate,
    simulate_balancing,
)

FREE = Costs(0, 0, 0, 0, 0)
COSTLY = Costs(per_message=1.0, per_byte=0.5, latency=2.0, per_migration=3.0, per_migrated_byte=1.0)


def test_tasks_of_one_core_follow_each_other() -> None:
    graph = task_graph([1, 2, 3], [0, 0, 1])
    run = simulate(graph, flat_target(1, 2, 1.0), graph.core, 4, FREE)
    assert run.iteration_times == [3, 3, 3, 3]
    assert run.efficiency == pytest.approx(24 / (2 * 12))


def test_a_message_costs_sender_and_receiver_and_takes_its_time() -> None:
    graph = task_graph([10, 1], [0, 1], [0], [1], bytes=[4])
    # Task 0 works 10 and sends for 1 + 2, the message travels 2, receiving it takes 3, and then
    # task 1 does its second iteration. Between nodes, the bytes and the transport take twice as
    # long.
    near = simulate(graph, flat_target(1, 2, 1.0), graph.core, 2, COSTLY)
    assert near.iteration_times[0] == 13
    assert near.end == 26
    first = [i for i in near.intervals if i.core == 1]
    assert [(i.start, i.end, i.kind) for i in first[:3]] == [
        (0, 1, WORK), (15, 18, COMMUNICATION), (18, 19, WORK),
    ]  # fmt: skip
    far = simulate(graph, flat_target(2, 1, 2.0), graph.core, 2, COSTLY)
    assert [(i.start, i.end) for i in far.intervals if i.core == 1][:2] == [(0, 1), (19, 24)]


def test_a_task_waits_for_the_slowest_sender_however_far_others_are() -> None:
    graph = task_graph([1, 10, 1], [0, 1, 2], [0, 1], [2, 2])
    run = simulate(graph, flat_target(1, 3, 1.0), graph.core, 4, FREE)
    starts = [i.start for i in run.intervals if i.core == 2]
    assert starts == [0, 10, 20, 30]


def test_every_task_works_in_every_iteration() -> None:
    graph = lb_test(60, 8, seed=3)
    run = simulate(graph, flat_target(4, 2, 2.0), graph.core, 5)
    work = sum(i.end - i.start for i in run.intervals if i.kind == WORK)
    assert work == pytest.approx(5 * graph.load.sum())
    for core in range(8):
        mine = [i for i in run.intervals if i.core == core]
        assert all(a.end <= b.start + 1e-12 for a, b in itertools.pairwise(mine))


def test_migrations_occupy_the_cores_that_send_and_receive() -> None:
    graph = task_graph([1, 1, 1], [0, 0, 0], migrated_bytes=[5, 7, 9])
    after = np.array([0, 1, 1], np.uint32)
    target = flat_target(2, 1, 2.0)
    assert migration_time(graph, target, graph.core, after, COSTLY) == 2 * 3 + 2 * (7 + 9)
    run = simulate_balancing(graph, target, after, 0.5, COSTLY, (2, 4))
    assert run.iteration_times == [3, 3, 2, 2, 2, 2]
    assert run.end == 6 + 0.5 + 38 + 8


def test_balance_shortens_a_tilted_stencil() -> None:
    graph, target = jacobi2d(100, 16), flat_target(8, 2, 1.3)
    even = np.arange(100, dtype=np.uint32) % 16
    assert simulate(graph, target, even, 3).end < 0.8 * simulate(graph, target, graph.core, 3).end
