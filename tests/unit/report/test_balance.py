# SPDX-License-Identifier: Apache-2.0
"""The data of the page of mappings."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numascape.balance import Problem, flat_target, task_graph
from numascape.balance.generators import jacobi2d
from numascape.balance.simulation import (
    COMMUNICATION,
    WORK,
    Costs,
    Interval,
    Simulation,
    simulate_balancing,
)
from numascape.errors import NumascapeError
from numascape.report import balance
from numascape.report.balance import Mapped, balance_data, render_balance
from numascape.report.core_activity import activity_of
from numascape.report.encode import Planes


def mapped_of(problem: Problem, *algorithms: str, costs: Costs | None = None) -> Mapped:
    results = [problem.run(name) for name in algorithms]
    relabelled = [problem.relabelled_migrations(one.mapping) for one in results]
    return Mapped("tasks.json", problem, results, relabelled, problem.target, costs)


def data_of(mapped: Mapped, parts: int = 100) -> dict[str, Any]:
    return balance_data(mapped, balance.simulations(mapped), parts, Planes())


def test_the_longest_bar_is_the_imbalance_of_the_table() -> None:
    mapped = mapped_of(Problem(jacobi2d(64, 16), flat_target(4, 4, 2.0)), "greedy", "numalb")
    results = data_of(mapped)["results"]
    assert [one["label"] for one in results] == ["now", "greedy", "numalb"]
    for one in results:
        assert max(one["loads"]) == pytest.approx(one["imbalance"], abs=1e-4)
        assert np.mean(one["loads"]) == pytest.approx(1.0, abs=1e-3)


def test_traffic_and_migrations_go_between_the_nodes_of_the_hosts() -> None:
    """With costs by level, each core is a node of the problem; the page has the machine's nodes."""
    graph, nodes = jacobi2d(64, 16), flat_target(4, 4, 2.0)
    by_core = flat_target(16, 1, 2.0)
    mapped = dataclasses.replace(mapped_of(Problem(graph, by_core), "greedy"), nodes=nodes)
    data = data_of(mapped)
    assert data["groups"] == ["0", "1", "2", "3"]
    assert (data["unit"], data["bar_nodes"]) == ("bytes", nodes.core_node.tolist())
    expected = Problem(graph, nodes)
    for one, mapping in zip(data["results"], (graph.core, mapped.results[0].mapping), strict=True):
        assert one["traffic"] == expected.node_traffic(mapping).tolist()
        assert np.sum(one["moves"]) == one["migrations"]


def test_many_nodes_and_cores_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "MAX_NODES", 2)
    monkeypatch.setattr(balance, "MAX_BARS", 3)
    graph = task_graph([1.0, 2.0, 3.0, 4.0, 5.0], [0, 1, 2, 3, 4], [0, 4, 1], [4, 0, 2])
    data = data_of(mapped_of(Problem(graph, flat_target(5, 1, 2.0))))
    assert data["groups"] == ["0-2", "3-4"]
    (now,) = data["results"]
    assert now["traffic"] == [[1.0, 1.0], [1.0, 0.0]]
    assert now["loads"] == [round(load / 3, 4) for load in (2, 4, 5)]
    assert data["bar_nodes"] == [0, 2, 4]


def test_cells_are_the_seconds_of_each_kind() -> None:
    intervals = [
        Interval(0, 0.0, 1.0, WORK),
        Interval(0, 1.0, 1.5, COMMUNICATION),
        Interval(1, 2.0, 4.0, WORK),
        Interval(2, 3.0, 3.001, WORK),
    ]
    run = Simulation([4.0], [4.0], intervals, 4.0, 3)
    one = activity_of(run, 1, 4)
    assert one.work.tolist() == [255, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 1]
    assert one.communication.tolist() == [0, 128, 0, 0, *[0] * 8]
    assert not one.migration.any()
    two = activity_of(run, 2, 2)  # the last row has one core
    assert two.work.tolist() == [64, 128, 0, 1]


def test_all_simulated_time_is_in_the_cells() -> None:
    graph, target = jacobi2d(64, 16), flat_target(4, 4, 2.0)
    after = Problem(graph, target).run("greedy").mapping
    run = simulate_balancing(graph, target, after, 0.0)
    cells = activity_of(run, 1, 400)
    part = run.end / 400
    for kind, values in dataclasses.asdict(cells).items():
        seconds = sum(i.end - i.start for i in run.intervals if i.kind == kind)
        drawn = float(values.sum()) / 255 * part
        assert seconds <= drawn * (1 + 1e-6)
        # A cell has at most one step too much.
        assert drawn <= seconds + np.count_nonzero(values) / 255 * part


def test_mappings_are_simulated_while_it_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(jacobi2d(16, 4), flat_target(2, 2, 2.0))
    mapped = mapped_of(problem, "greedy", "numalb", costs=Costs())
    events = 6 * (problem.graph.tasks + 2 * problem.graph.messages)
    monkeypatch.setattr(balance, "MAX_EVENTS", 2 * events)
    planes = Planes()
    data = balance_data(mapped, balance.simulations(mapped), 10, planes)
    timelines = [one["timeline"] for one in data["results"]]
    assert [one and one["at"] for one in timelines] == [0, 10 * 4, None]
    assert data["activity"]["work"]["length"] == 2 * 10 * 4
    for one in timelines[:2]:
        assert len(one["times"]) == 6
        assert one["ends"][-1] == one["end"]


def test_threads_are_not_simulated() -> None:
    """The load of a thread is a number of accesses."""
    graph = task_graph([4, 2], [0, 1], [0], [1], count=[3])
    mapped = dataclasses.replace(
        mapped_of(Problem(graph, flat_target(2, 1, 2.0)), "greedy"), are_threads=True
    )
    data = data_of(mapped)
    assert data["unit"] == "shared accesses"
    assert [one["timeline"] for one in data["results"]] == [None, None]


def test_a_page_that_does_not_fit_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(balance, "SIZE", 1000)
    mapped = mapped_of(Problem(jacobi2d(16, 4), flat_target(2, 2, 2.0)), "greedy")
    with pytest.raises(NumascapeError, match="leave out --compare"):
        render_balance(mapped, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
