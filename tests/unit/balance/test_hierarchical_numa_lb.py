# SPDX-License-Identifier: Apache-2.0
"""NumaLB on each level of a machine, and Scotch's tree of these levels."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from numascape.balance import ALGORITHMS, Options, Problem, Target, target_of_machine, task_graph
from numascape.balance import generators as generated
from numascape.balance.levels import three_costs, with_levels
from numascape.balance.place_levels import messages_by_level, place_levels
from numascape.balance.target import several_hosts
from numascape.machine import open_machine

TWELVE_CACHES = "numa:1 l3:12 core:4 pu:1"


@pytest.fixture(scope="module")
def twelve_caches() -> Problem:
    machine = open_machine(TWELVE_CACHES)
    one = target_of_machine(machine)
    levels = place_levels(one, machine)
    target = with_levels(one, levels, three_costs((0, 1, 3), levels))
    return Problem(generated.mesh(32, 48), target)


def test_balancers_differ_on_one_node_with_twelve_caches(twelve_caches: Problem) -> None:
    options = Options(effort=0.0)
    costs = {name: twelve_caches.run(name, options).metrics.communication for name in ALGORITHMS}
    # Without latencies, NucoLB is NumaLB.
    assert costs.pop("nucolb") == costs["numalb"]
    assert len(set(costs.values())) == len(costs)


def test_messages_stay_closer_than_with_numalb(twelve_caches: Problem) -> None:
    ours, published = (twelve_caches.run(name) for name in ("hierarchicalnumalb", "numalb"))
    assert ours.metrics.communication < 0.7 * published.metrics.communication
    assert ours.metrics.migrations < published.metrics.migrations
    assert ours.metrics.imbalance < 1.06


def test_each_level_follows_the_rule() -> None:
    """Two nodes of two cores; the result was computed by hand."""
    # Tasks 0 and 1 exchange messages, and so do 2 and 3. All are on core 0.
    graph = task_graph([4, 3, 2, 1], [0] * 4, [0, 2], [1, 3], count=[10, 10])
    factor = np.array([[1.0, 2.0], [2.0, 1.0]])
    problem = Problem(graph, Target("two", np.array([0, 0, 1, 1], np.uint32), factor))
    # Without messages, a node has half of 10 units of work, and each core a part of it. Task 0 is
    # first: node 0 holds the other six, so it goes to node 1; then 1 stays (2.5 against 3.5).
    free = problem.run("hierarchicalnumalb", Options(alpha=0.0)).mapping
    assert (free[:2] // 2).tolist() == [1, 0]
    assert sorted(problem.core_times(free).tolist()) == [1, 2, 3, 4]
    # With a large weight, tasks that exchange messages stay together, and none moves.
    held = problem.run("hierarchicalnumalb", Options(alpha=10.0)).mapping
    assert held.tolist() == [0, 0, 0, 0]


def test_interleaved_and_uneven_nodes_are_grouped_by_cost() -> None:
    """Nodes 0, 2, 4 are one host, and 1 and 3 another; one has two cores."""
    host = np.arange(5) % 2
    factor = np.where(host[:, None] == host[None, :], 2.0, 20.0)
    np.fill_diagonal(factor, 1.0)
    target = Target("odd", np.array([0, 1, 2, 3, 4, 4], np.uint32), factor)
    graph = dataclasses.replace(generated.mesh(18, 6), core=generated.at_random(324, 6, seed=2))
    problem = Problem(graph, target)
    ours = problem.run("hierarchicalnumalb")
    assert ours.metrics.imbalance < 1.06
    assert ours.metrics.communication < 0.8 * problem.run("numalb").metrics.communication


def test_scotch_has_the_levels_of_many_cores() -> None:
    """Too many cores for a matrix of distances; cores of a cache have no consecutive numbers."""
    machine = open_machine("numa:4 l3:4 core:12 pu:1")
    one = target_of_machine(machine, 2.0)
    shuffled = np.random.default_rng(1).permutation(one.cores)
    one = dataclasses.replace(
        one, core_node=one.core_node[shuffled], cpus=tuple(one.cpus[i] for i in shuffled)
    )
    hosts = several_hosts(one, 4, 10.0)
    levels = place_levels(hosts, machine, 4)
    target = with_levels(hosts, levels, three_costs((0, 1, 3), levels))
    assert target.cores == 768
    problem = Problem(generated.mesh(60, 768), target)
    scotch, metis = (problem.run(name).mapping for name in ("scotch", "metis"))
    shares = [messages_by_level(problem.graph, m, levels) for m in (scotch, metis)]
    # METIS numbers parts of a mesh in a good order, too, but it knows no caches.
    assert shares[0]["hosts"] < 0.9 * shares[1]["hosts"]
    assert shares[0]["L3"] > 2 * shares[1]["L3"]
    assert problem.measure(scotch).communication < 0.8 * problem.measure(metis).communication


def test_messages_are_counted_at_their_closest_level() -> None:
    machine = open_machine("numa:2 l3:2 core:2 pu:1")
    hosts = several_hosts(target_of_machine(machine, 2.0), 2, 10.0)
    graph = task_graph([1] * 6, [0, 0, 1, 2, 4, 8], [0] * 5, [1, 2, 3, 4, 5], count=[1, 2, 3, 4, 6])
    shares = messages_by_level(graph, graph.core, place_levels(hosts, machine, 2))
    assert {name: round(16 * share, 9) for name, share in shares.items()} == {
        "core": 1, "L3": 2, "node": 3, "host": 4, "hosts": 6,
    }  # fmt: skip
