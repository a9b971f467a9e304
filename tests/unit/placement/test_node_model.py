# SPDX-License-Identifier: Apache-2.0
"""The nodes of a machine for placement decisions, compared with results by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from numascape.placement.node_model import NodeModel, balancing_target, node_model, target_nodes
from numascape.prediction.speeds import speeds_of
from unit.prediction.made_up import machine_of

INF = float("inf")


def model(room: list[float], cores: list[float], far: float = 2.0) -> NodeModel:
    """Nodes with one speed, each `far` times slower from the others."""
    count = len(room)
    factor = np.full((count, count), far)
    np.fill_diagonal(factor, 1.0)
    return NodeModel(tuple(range(count)), factor, np.array(cores), np.ones(count), np.array(room))


def traffic(parallel: list[list[float]], serial: list[list[float]] | None = None) -> np.ndarray:  # type: ignore[type-arg]
    return np.array([parallel, serial or np.zeros_like(parallel)])


def test_a_machine_s_nodes_are_relative_to_local_memory_and_mean_speed() -> None:
    machine = machine_of(3, 4, local=100.0, remote=150.0, without_cpus=(2,), memory_bytes=1000)
    speeds = replace(speeds_of(machine), controller=np.array([10.0, 30.0, 5.0]))
    found = node_model(machine, speeds, None)
    assert found.factor.tolist() == [[1.0, 1.5, 1.5], [1.5, 1.0, 1.5], [1.0, 1.0, 1.0]]
    assert found.cores.tolist() == [4.0, 4.0, 0.0]
    assert found.speed.tolist() == [0.5, 1.5, 0.25]
    assert found.room.tolist() == [950.0] * 3
    assert found.with_cpus.tolist() == [0, 1]
    assert node_model(machine, speeds, {0: 7, 2: 9}).room.tolist() == [7.0, 0.0, 9.0]
    unknown = machine_of(2, memory_bytes=0)
    assert node_model(unknown, speeds_of(unknown), None).room.tolist() == [INF, INF]


def test_local_lines_on_all_controllers_take_one_unit_of_time() -> None:
    two = model([INF, INF], [4, 4])
    # Waiting and load are 1 and 1/2 of each line: two nodes serve what 4 threads use.
    spread = two.seconds(traffic([[50, 0], [0, 50]]), 4)
    assert spread == pytest.approx((1 + 0.5**4) ** 0.25)
    # On one node, its controller serves all lines, for four threads on four cores.
    assert two.seconds(traffic([[100, 0], [0, 0]]), 4) == pytest.approx(2**0.25)
    assert two.seconds(traffic([[0, 100], [0, 0]]), 4) == pytest.approx((2**4 + 1) ** 0.25)
    # Threads of both nodes use the memory of the first one.
    assert two.seconds(traffic([[50, 0], [50, 0]]), 4) == pytest.approx((1.5**4 + 1) ** 0.25)
    # At most eight threads work: the machine has no more cores.
    assert two.seconds(traffic([[100, 0], [0, 0]]), 99) == pytest.approx((1 + 2**4) ** 0.25)
    # While one thread works, a controller has one core of four to serve.
    alone = two.seconds(traffic([[0, 0], [0, 0]], [[100, 0], [0, 0]]), 8)
    assert alone == pytest.approx((1 + 0.25**4) ** 0.25)
    assert two.seconds(traffic([[0, 0], [0, 0]]), 8) == 0.0


def test_bytes_that_do_not_fit_go_to_the_nearest_node_of_their_threads() -> None:
    found = model([1.0, 9.0, 9.0], [2, 2, 0])
    # From node 0, node 2 is near; from node 1, node 0; node 2 has no threads.
    factor = np.array([[1.0, 3.0, 2.0], [1.5, 1.0, 4.0], [1.0, 1.0, 1.0]])
    found = replace(found, factor=factor)
    room = np.array([1.0, 9.0, 9.0])
    assert found.spilled(np.array([4.0, 0.0, 0.0]), room)[0].tolist() == [0.25, 0.0, 0.75]
    room = np.array([9.0, 1.0, 9.0])
    assert found.spilled(np.array([0.0, 4.0, 0.0]), room)[1].tolist() == [0.75, 0.25, 0.0]
    # All threads may have lines there: the nearest node is the one that is far from no thread.
    room = np.array([9.0, 9.0, 1.0])
    assert found.spilled(np.array([0.0, 0.0, 4.0]), room)[2].tolist() == [0.75, 0.0, 0.25]
    # Memory that fits on no other node stays.
    room = np.array([1.0, 1.0, 1.0])
    assert found.spilled(np.array([4.0, 0.0, 0.0]), room)[0].tolist() == [0.5, 0.25, 0.25]
    assert found.spilled(np.array([0.0, 1.0, 0.0]), room).tolist() == np.eye(3).tolist()


def test_bytes_are_spread_over_as_many_nodes_as_have_room() -> None:
    nodes = model([100, 49, 400], [1, 1, 0])
    assert nodes.nodes_for(98).tolist() == [0, 1]
    assert nodes.nodes_for(99).tolist() == [0]
    assert nodes.nodes_for(100).tolist() == [0]
    assert nodes.nodes_for(147).tolist() == [0, 1, 2]
    assert nodes.nodes_for(148).tolist() == [0, 2]
    assert nodes.nodes_for(200).tolist() == [0, 2]
    assert nodes.nodes_for(400).tolist() == [2]
    assert nodes.nodes_for(401).tolist() == [0, 1]


def test_what_does_not_fit_goes_to_the_nearest_node_with_room() -> None:
    nodes = model([0, 0, 0], [1, 1, 1])
    nodes.factor[0] = [1.0, 3.0, 2.0]
    shares = nodes.spilled(np.array([100.0, 10.0, 0.0]), np.array([40.0, 30.0, 50.0]))
    # 60 are too many: 50 go to node 2, which is nearer, and 10 to node 1, which has 20 free.
    assert shares.tolist() == [[0.4, 0.1, 0.5], [0, 1, 0], [0, 0, 1]]
    full = nodes.spilled(np.array([100.0, 0.0, 0.0]), np.array([40.0, -1.0, 0.0]))
    assert full[0].tolist() == pytest.approx([1.0, 0, 0])
    # A node that is exactly full is not too full.
    assert nodes.spilled(np.array([40.0, 0, 0]), np.array([40.0, 0, 9]))[0].tolist() == [1, 0, 0]


def test_the_room_that_one_node_took_is_gone_for_the_next() -> None:
    nodes = model([0, 0, 0], [1, 1, 1])
    shares = nodes.spilled(np.array([50.0, 50.0, 0.0]), np.array([30.0, 30.0, 25.0]))
    assert shares[0].tolist() == pytest.approx([0.6, 0, 0.4])
    assert shares[1].tolist() == pytest.approx([0, 0.9, 0.1])


def test_the_balancer_knows_the_machine_by_its_nodes_with_cpus() -> None:
    machine = machine_of(3, 2, first=4, without_cpus=(0,))
    target = balancing_target(machine, speeds_of(machine))
    assert target.nodes == 2
    assert target_nodes(machine, target) == [1, 2]
