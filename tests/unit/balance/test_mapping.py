# SPDX-License-Identifier: Apache-2.0
"""The library from Python: problems, algorithms, generators, machines."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.balance import (
    ALGORITHMS,
    Options,
    Problem,
    Target,
    TaskGraph,
    compare,
    flat_target,
    target_of_machine,
    task_graph,
)
from numascape.balance import generators as generated
from numascape.errors import NumascapeError
from numascape.machine import open_machine


def test_metrics_follow_their_definitions(small: TaskGraph) -> None:
    problem = Problem(small, flat_target(2, 1, 3.0))
    now = problem.measure(small.core)
    assert now.imbalance == 6 / 4
    assert now.communication == 2 + 1 + 3 * 4
    assert now.off_node_bytes == 30
    then = problem.measure(np.array([0, 0, 1, 1], np.uint32))
    assert (then.imbalance, then.communication, then.migrations) == (1.0, 2 + 1 + 4, 1)
    assert then.migrated_bytes == 30
    assert problem.core_times(small.core).tolist() == [6, 2]
    assert problem.node_traffic(small.core).tolist() == [[150, 30], [0, 0]]


def test_the_incumbent_search_finds_the_one_move(small: TaskGraph) -> None:
    balanced = Problem(small, flat_target(2, 1, 3.0)).run()
    assert balanced.mapping.tolist() == [0, 0, 1, 1]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_every_algorithm_maps_every_problem(data: st.DataObject) -> None:
    tasks = data.draw(st.integers(0, 30))
    nodes, cores = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    loads = st.one_of(st.just(0.0), st.floats(0, 1e150), st.floats(0.01, 1))
    ends = st.lists(st.integers(0, max(tasks - 1, 0)), min_size=0, max_size=40 if tasks else 0)
    sender = data.draw(ends)
    receiver = data.draw(
        st.lists(st.integers(0, max(tasks - 1, 0)), min_size=len(sender), max_size=len(sender))
    )
    graph = task_graph(
        load=data.draw(st.lists(loads, min_size=tasks, max_size=tasks)),
        core=data.draw(st.lists(st.integers(0, nodes * cores - 1), min_size=tasks, max_size=tasks)),
        sender=sender,
        receiver=receiver,
        fixed=data.draw(st.lists(st.booleans(), min_size=tasks, max_size=tasks)),
    )
    problem = Problem(graph, flat_target(nodes, cores, 2.0))
    for balanced in compare(problem, Options(effort=0.05)):
        stays = graph.fixed.astype(bool)
        assert len(balanced.mapping) == tasks
        assert (balanced.mapping[stays] == graph.core[stays]).all()
        assert balanced.mapping.max(initial=0) < nodes * cores


STARTS = (
    "now",
    "twolevel",
    "twolevel-scotch",
    *(name for name in ALGORITHMS if name != "incumbent"),
)


def problems(data: st.DataObject) -> Problem:
    """Any tasks on any small machine, also with different factors, fixed tasks and speeds."""
    tasks, nodes = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 4))
    seed = np.random.default_rng(data.draw(st.integers(0, 1 << 20)))
    factor = seed.choice([1.5, 2.0, 3.0], (nodes, nodes))
    np.fill_diagonal(factor, 1.0)
    core_node = np.repeat(np.arange(nodes), seed.integers(1, 4, nodes)).astype(np.uint32)
    messages = data.draw(st.integers(0, 4 * tasks))
    graph = task_graph(
        load=seed.lognormal(0.0, data.draw(st.sampled_from([0.0, 0.6, 2.0])), tasks),
        core=seed.integers(0, len(core_node), tasks),
        sender=seed.integers(0, tasks, messages),
        receiver=seed.integers(0, tasks, messages),
        count=seed.integers(1, 9, messages),
        fixed=seed.random(tasks) < data.draw(st.sampled_from([0.0, 0.2])),
    )
    speed = seed.choice([1.0, 2.0], len(core_node))
    return Problem(graph, Target("any", core_node, factor, speed=speed))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_incumbent_search_is_never_worse_than_its_starts(data: st.DataObject) -> None:
    problem = problems(data)
    names = tuple(data.draw(st.lists(st.sampled_from(STARTS), min_size=1, max_size=4)))
    options = Options(
        starts=names,
        iterations=data.draw(st.sampled_from([0.1, 1.0, 30.0, 1e6])),
        max_migrations=data.draw(st.sampled_from([float("inf"), 5.0])),
        effort=0.05,
    )
    found = problem.objective(problem.run("incumbent", options).mapping, options)
    for name in (*names, "now"):
        start = problem.objective(problem.start(name, options), options)
        assert no_worse(found, start), f"worse than {name}"


def no_worse(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    """Whether a comes first in order of its parts, where rounding does not count."""
    for x, y in zip(a, b, strict=True):
        if abs(x - y) > 1e-9 * (1.0 + abs(x) + abs(y)):
            return x < y
    return True


def test_costs_that_differ_by_direction_are_those_of_the_direction() -> None:
    random = np.random.default_rng(7)
    nodes = 70
    factor = random.uniform(1.0, 3.0, (nodes, nodes))
    # Only task 0 may move: it sends to three tasks, and receives from two.
    sender, receiver = [0, 0, 0, 4, 5], [1, 2, 3, 0, 0]
    fixed = np.arange(nodes) > 0
    graph = task_graph(
        np.ones(nodes), np.arange(nodes), sender, receiver, count=[3, 1, 2, 5, 1], fixed=fixed
    )
    target = Target("any", np.arange(nodes, dtype=np.uint32), factor)
    problem = Problem(graph, target)
    options = Options(max_imbalance=2.0, migration_price=0.0)
    found = problem.run("incumbent", options).metrics.communication
    mappings = [np.array([core, *range(1, nodes)], np.uint32) for core in range(nodes)]
    assert found == min(problem.measure(mapping).communication for mapping in mappings)


def test_a_start_is_relabelled() -> None:
    graph = generated.mesh(16, 8)
    problem = Problem(graph, flat_target(4, 2, 2.0))
    metis = problem.run("metis").mapping
    assert problem.measure(problem.start("metis")).communication == pytest.approx(
        problem.measure(metis).communication
    )
    assert problem.measure(problem.start("metis")).migrations < problem.measure(metis).migrations


def test_a_start_keeps_no_more_tasks_on_a_core_than_fit() -> None:
    graph = dataclasses.replace(generated.mesh(16, 4), core=np.zeros(256, np.uint32))
    problem = Problem(graph, flat_target(2, 2, 2.0))
    start = problem.measure(problem.start("twolevel", Options(max_imbalance=1.05)))
    assert start.imbalance <= 1.06  # METIS' own bound on the nodes is not exact
    assert start.migrations < 230


def test_more_migrations_pay_the_longer_the_mapping_stays() -> None:
    scattered = generated.mesh(24, 16, seed=3)
    graph = dataclasses.replace(scattered, core=generated.at_random(576, 16, 1))
    problem = Problem(graph, flat_target(4, 4, 2.0))
    results = [
        problem.run("incumbent", Options(iterations=n, effort=0.2)).metrics for n in (0.5, 3, 100)
    ]
    migrations = [metrics.migrations for metrics in results]
    communication = [metrics.communication for metrics in results]
    assert migrations == sorted(set(migrations))
    assert communication == sorted(set(communication), reverse=True)


def test_results_have_no_step_where_migrations_begin_to_cost_little() -> None:
    problem = Problem(many_random_messages(600, 16), flat_target(4, 4, 2.0))
    before, after = (
        problem.run("incumbent", Options(max_imbalance=1.05, iterations=n)).metrics
        for n in (499.9, 500.1)  # all migrations cost 0.2 % of the communication
    )
    # Migrations may jump where they cost nearly nothing; the sum of both costs does not.
    price = before.communication / 600 / 500
    costs = [m.communication + price * m.migrations for m in (before, after)]
    assert costs[1] == pytest.approx(costs[0], rel=0.01)


@pytest.mark.parametrize("name", ["mesh", "scattered mesh", "random"])
def test_no_result_is_worse_in_both_than_that_for_another_price(name: str) -> None:
    """In communication and in migrations, while all migrations cost 0.2 to 10 % of the former."""
    mesh = generated.mesh(20, 16, seed=3)
    graph = {
        "mesh": mesh,
        "scattered mesh": dataclasses.replace(mesh, core=generated.at_random(400, 16, 1)),
        "random": many_random_messages(400, 16),
    }[name]
    problem = Problem(graph, flat_target(4, 4, 2.0))
    results = [
        problem.run("incumbent", Options(max_imbalance=1.05, iterations=n, effort=0.2)).metrics
        for n in (11, 14, 20, 30, 48, 70, 100, 200, 499)
    ]
    pairs = [(found.communication, found.migrations) for found in results]
    assert sorted(pairs, key=lambda pair: -pair[1])[0][0] == min(pairs)[0]
    for communication, migrations in pairs:
        better = {
            pair for pair in pairs if pair[0] <= communication and pair[1] <= migrations
        } - {(communication, migrations)}  # fmt: skip
        assert not better
    # The longer the mapping stays, the more migrations pay.
    assert pairs == sorted(pairs, key=lambda pair: (-pair[0], pair[1]))


def test_small_graphs_are_no_worse_than_scotch() -> None:
    problem = Problem(many_random_messages(300, 16), flat_target(4, 4, 2.0))
    options = Options(max_imbalance=1.05, iterations=1e6, effort=0.02)
    ours, scotch = (problem.run(name, options).metrics for name in ("incumbent", "scotch"))
    assert scotch.imbalance <= 1.05
    assert ours.communication <= scotch.communication
    # In two levels alone, this graph is divided less well.
    two_levels = dataclasses.replace(options, starts=("now", "twolevel"))
    assert problem.run("incumbent", two_levels).metrics.communication > scotch.communication


def many_random_messages(tasks: int, cores: int) -> TaskGraph:
    """Four messages from each task to random others, and as many back."""
    random = np.random.default_rng(5)
    ends = np.repeat(np.arange(tasks), 4), random.integers(0, tasks, 4 * tasks)
    apart = ends[0] != ends[1]
    one, other = ends[0][apart], ends[1][apart]
    return task_graph(
        random.lognormal(0.0, 0.6, tasks), generated.blocks(tasks, cores),
        np.concatenate([one, other]), np.concatenate([other, one]),
    )  # fmt: skip


@pytest.mark.parametrize(
    "graph", [generated.mesh(64, 64), many_random_messages(1000, 32)], ids=["mesh", "random"]
)
def test_partitions_are_found_where_migrations_pay(graph: TaskGraph) -> None:
    problem = Problem(graph, flat_target(4, (int(graph.core.max()) + 1) // 4, 2.0))
    ours = problem.run("incumbent", Options(max_imbalance=1.05, iterations=1e6)).metrics
    for rival in ("metis", "scotch"):
        theirs = problem.run(rival, Options(max_imbalance=1.05))
        assert ours.communication <= theirs.metrics.communication
        assert ours.migrations < problem.measure(problem.relabel(theirs.mapping)).migrations
    assert ours.imbalance <= 1.05 + 1e-9


def test_annealing_of_nodes_lowers_communication() -> None:
    problem = Problem(many_random_messages(1000, 32), flat_target(4, 8, 2.0))
    without, by_default = (
        problem.run("incumbent", Options(iterations=1e6, effort=effort)).metrics.communication
        for effort in (0.0, 1.0)
    )
    assert by_default < without


def test_an_unknown_start_is_refused(small: TaskGraph) -> None:
    problem = Problem(small, flat_target(2, 1, 3.0))
    for name in ("best", "incumbent"):
        with pytest.raises(NumascapeError, match=f"no start {name}: choose from now"):
            problem.run("incumbent", Options(starts=(name,)))
    with pytest.raises(NumascapeError, match="scratch is a search"):
        problem.start("scratch")


MALLOC_CHECKS = "libc_malloc_debug.so.0"  # the C library's own
REMAPPED = """
from numascape.balance import Options, Problem, flat_target, task_graph
graph = task_graph(
    load=[4.2e149, 1, 0.03, 0, 0, 7.6e149, 4.9e16, 3e15, 0, 0.18, 0.84, 0, 0, 0.6, 0.01, 0.08],
    core=[2, 7, 0, 4, 8, 3, 0, 0, 8, 4, 3, 8, 4, 4, 5, 8],
    sender=[4, 3, 4, 14],
    receiver=[3, 15, 10, 13],
    fixed=[1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0],
)
problem = Problem(graph, flat_target(3, 3, 2.0))
for _ in range(20):
    problem.run("scotchremap", Options(effort=0.05))
print("sound")
"""


@pytest.mark.program
def test_scotch_keeps_to_its_memory() -> None:
    run = subprocess.run(
        [sys.executable, "-c", REMAPPED],
        env={**os.environ, "LD_PRELOAD": MALLOC_CHECKS, "MALLOC_CHECK_": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "sound\n"), run.stderr


def test_a_problem_that_contradicts_itself_is_refused_in_one_line(small: TaskGraph) -> None:
    with pytest.raises(NumascapeError, match="task 3 is on core 1 of 1"):
        Problem(small, flat_target(1, 1, 1.0))
    with pytest.raises(NumascapeError, match="choose one of incumbent"):
        Problem(small, flat_target(2, 1, 1.0)).run("best")


def test_the_pareto_front_goes_from_staying_to_balance(small: TaskGraph) -> None:
    front = Problem(small, flat_target(2, 1, 3.0)).pareto_front(Options(effort=0.1))
    assert [balanced.metrics.migrations for balanced in front] == [0, 1]


@pytest.mark.parametrize(("name", "cores", "nodes"), [("numa16", 16, 8), ("numa32", 32, 4)])
def test_the_published_machines_are_targets(name: str, cores: int, nodes: int) -> None:
    target = target_of_machine(open_machine(name))
    assert (target.cores, target.nodes) == (cores, nodes)
    assert (np.diag(target.factor) == 1).all()
    assert target.factor.max() > 1
    assert len(set(target.cpus)) == cores


def test_hardware_threads_are_not_cores_of_their_own() -> None:
    machine = open_machine("epyc-9354p-nps4")
    assert len(machine.cpus) > len(machine.cores)
    assert target_of_machine(machine).cores == len(machine.cores)


def test_a_machine_without_factors_is_refused() -> None:
    with pytest.raises(NumascapeError, match="NUMA factors"):
        target_of_machine(open_machine("numa16").__class__("none", open_machine("numa16").nodes))


def test_generators_have_the_published_sizes() -> None:
    ring = generated.k_neighbor(200, 16)
    assert (ring.tasks, ring.messages, ring.bytes[0]) == (200, 1600, 16384)
    assert sorted(ring.to[:8].tolist()) == [1, 2, 3, 4, 196, 197, 198, 199]
    stencil = generated.jacobi2d(100, 16)
    assert (stencil.tasks, stencil.messages) == (100, 4 * 90)
    assert stencil.load.max() == pytest.approx(9 * stencil.load.min())
    test = generated.lb_test(200, 16)
    assert test.tasks == 200
    assert test.load.min() >= 0.05
    assert test.load.max() <= 0.2
    # Few tasks are heavy: the mean of u^4, with u random in [0, 1), is a fifth.
    assert generated.lb_test(20000, 16, "ring").load.mean() == pytest.approx(0.08, rel=0.02)
    # One in a hundred of the ordered pairs, including a ring.
    assert test.messages == 398
    following = zip(test.senders.tolist(), test.to.tolist(), strict=True)
    assert sum((task + 1) % 200 == other for task, other in following) == 200
    for topology, messages in (("ring", 64), ("mesh2d", 2 * 2 * 56), ("mesh3d", 2 * 3 * 48)):
        assert generated.lb_test(64, 4, topology=topology).messages == messages  # type: ignore[arg-type]


def test_blocks_and_deals_use_every_core_evenly() -> None:
    for placed in (generated.blocks(100, 16), generated.round_robin(100, 16)):
        assert sorted(set(np.bincount(placed))) == [6, 7]


def test_algorithms_are_described() -> None:
    assert set(ALGORITHMS) >= {"incumbent", "numalb", "nucolb", "hwtopolb", "greedy", "metis"}
    assert all(ALGORITHMS.values())
