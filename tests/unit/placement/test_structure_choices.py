# SPDX-License-Identifier: Apache-2.0
"""The candidate placements of one structure, compared with results by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from numascape.placement.contiguous_parts import contiguous_parts, parts_that_fit
from numascape.placement.node_model import NodeModel
from numascape.placement.structure_choices import (
    Choice,
    UseByNode,
    best_parts,
    choices,
    named_rule,
    parts_allowed,
    use_by_nodes,
)
from numascape.placement.structure_use import StructureUse
from numascape.placement.thread_groups import ThreadGroups
from unit.placement.test_node_model import model

ROW = {"name": "A", "kind": "heap", "function": "f", "file": "a.c", "line": 7, "pages": 4}
PLENTY = [1000.0, 1000.0]


def use(parallel: list[list[float]], serial: Any = None, size: float = 10.0) -> UseByNode:
    """Lines of each part by the threads of each node; thread 0 of node 0 touched everything."""
    lines = np.array([parallel, serial or np.zeros_like(parallel)], float)
    touched = np.zeros((2, lines.shape[2], lines.shape[2]))
    touched[:, :, 0] = lines.sum(axis=1)
    parts = lines.shape[1]
    held = np.full(parts, size)
    first = np.zeros(lines.shape[2])
    first[0] = held.sum()
    return UseByNode(lines, held, touched, first, np.arange(parts) / parts)


def made(of: UseByNode, nodes: NodeModel | None = None, max_parts: int = 8) -> dict[str, Choice]:
    nodes = nodes or model(PLENTY, [2, 2])
    found = choices(ROW, of, nodes, nodes.room, max_parts, best_parts(of, nodes, max_parts))
    return {choice.rule.policy: choice for choice in found}


def test_a_rule_names_its_structure() -> None:
    rule = named_rule(ROW)
    assert (rule.name, rule.kind, rule.function, rule.file, rule.line) == (
        *("A", "heap", "f", "a.c", 7),
    )
    assert rule.policy == "first-touch"


def test_first_touch_has_the_traffic_of_the_touchers() -> None:
    first = made(use([[6, 2], [1, 7]]))["first-touch"]
    assert first.traffic.tolist() == [[[7, 0], [9, 0]], [[0, 0], [0, 0]]]
    assert first.bytes.tolist() == [20.0, 0.0]


def test_what_one_node_uses_for_four_fifths_may_lie_there() -> None:
    found = made(use([[1, 3], [1, 5]]))["preferred"]
    assert found.rule.nodes == (1,)
    assert found.traffic[0].tolist() == [[0, 2], [0, 8]]
    assert found.bytes.tolist() == [0.0, 20.0]
    assert "preferred" not in made(use([[1.1, 3], [1, 5]]))
    # Work of one thread counts, too.
    alone = made(use([[3, 0], [0, 1]], [[0, 0], [0, 15]]))
    assert alone["preferred"].rule.nodes == (1,)


def test_interleaving_spreads_all_lines_evenly() -> None:
    found = made(use([[6, 2], [2, 6]]))["interleave"]
    assert found.rule.nodes == (0, 1)
    assert found.traffic[0].tolist() == [[4, 4], [4, 4]]
    assert found.bytes.tolist() == [10.0, 10.0]
    assert list(made(use([[6, 2]]))) == ["first-touch"]  # one part is not divided


def test_weights_follow_the_speed_of_memory() -> None:
    nodes = model(PLENTY, [2, 2])
    nodes.speed[:] = [1.5, 0.5]
    found = made(use([[4, 4], [4, 4]]), nodes)["weighted-interleave"]
    assert (found.rule.nodes, found.rule.weights) == ((0, 1), (3, 1))
    assert found.traffic[0].tolist() == [[6, 2], [6, 2]]
    assert "weighted-interleave" not in made(use([[4, 4], [4, 4]]))
    nodes.speed[:] = [30.0, 7.2]
    assert made(use([[4, 4], [4, 4]]), nodes)["weighted-interleave"].rule.weights == (30, 7)


def test_weights_are_limited_by_the_room() -> None:
    nodes = model([4.0, 1000.0], [2, 2])
    found = made(use([[4, 4], [4, 4]]), nodes)["weighted-interleave"]
    # 4 of 20 bytes on node 0: a quarter of what is on node 1, rounded down to 7 of 30.
    assert found.rule.weights == (7, 30)
    assert found.bytes.tolist() == pytest.approx([20 * 7 / 37, 20 * 30 / 37])


def test_parts_lie_on_the_nodes_that_use_them() -> None:
    found = made(use([[8, 0], [8, 0], [0, 8], [0, 8]]))["parts"]
    assert (found.rule.nodes, found.rule.parts) == ((0, 1), (0.0, 0.5, 1.0))
    assert found.traffic[0].tolist() == [[16, 0], [0, 16]]
    assert found.bytes.tolist() == [20.0, 20.0]


def test_parts_must_save_a_tenth_of_what_interleaving_costs() -> None:
    # With interleaving, half of all lines are far away: 10 of 20. With parts, the smaller half.
    assert "parts" in made(use([[5.5, 4.5], [4.5, 5.5]]))  # 9, just nine tenths
    assert "parts" not in made(use([[5.4, 4.6], [4.6, 5.4]]))


def test_parts_on_a_full_node_move_to_the_other() -> None:
    nodes = model([10.0, 1000.0], [2, 2])
    found = made(use([[9, 0], [8, 0], [0, 8], [0, 8]]), nodes)["parts"]
    assert (found.rule.nodes, found.rule.parts) == ((0, 1), (0.0, 0.25, 1.0))
    assert found.traffic[0].tolist() == [[9, 8], [0, 16]]
    assert "parts" not in made(use([[9, 0], [8, 0], [0, 8], [0, 8]]), model([9.0, 9.0], [2, 2]))


def test_what_does_not_fit_spills() -> None:
    nodes = model([5.0, 1000.0], [2, 2])
    found = made(use([[8, 0], [8, 0]]), nodes)
    assert found["first-touch"].bytes.tolist() == [5.0, 15.0]
    assert found["first-touch"].traffic[0].tolist() == [[4, 12], [0, 0]]
    assert found["preferred"].bytes.tolist() == [5.0, 15.0]


def test_full_nodes_are_left_out_and_memory_alone_helps() -> None:
    full = made(use([[4, 4], [4, 4]]), model([0.0, 1000.0], [2, 2]))
    assert full["interleave"].rule.nodes == (1,)
    three = use([[4, 4, 0], [4, 4, 0]])
    assert made(three, model([10.0, 10.0, 500.0], [2, 2, 0]))["interleave"].rule.nodes == (0, 1)
    assert made(three, model([10.0, 9.0, 500.0], [2, 2, 0]))["interleave"].rule.nodes == (0, 1, 2)
    assert made(three, model([0.0, 0.0, 0.0], [2, 2, 0]))["interleave"].rule.nodes == (0, 1)


def groups(*nodes: int, busy: tuple[bool, ...] = ()) -> ThreadGroups:
    threads = np.flatnonzero(np.array(nodes) >= 0)
    return ThreadGroups(threads, np.array(busy or [True] * len(threads)), np.array(nodes))


def test_there_are_two_parts_for_each_busy_thread() -> None:
    assert parts_allowed(groups(0, 1, 0)) == 6
    assert parts_allowed(groups(0, 1, 0, busy=(True, False, False))) == 4


def test_threads_of_other_processes_do_not_count() -> None:
    def column(*values: float) -> Any:
        return np.array(values)

    of_threads = StructureUse(
        0,
        bytes=column(10.0, 10.0),
        part=column(0, 1, 1, 0),
        thread=column(0, 1, 2, 0),
        serial=column(0, 0, 0, 1),
        lines=column(5.0, 7.0, 9.0, 3.0),
        toucher=column(0, 0, 2, 1),
        user=column(0, 1, 1, 2),
        touched_serial=column(0, 1, 0, 0),
        touched_lines=column(5.0, 7.0, 9.0, 3.0),
        touched_bytes=column(4.0, 6.0, 10.0),
        posts=column(0.0, 0.5),
    )
    found = use_by_nodes(of_threads, groups(0, 1, -1), 2)
    assert found.lines.tolist() == [[[5, 0], [0, 7]], [[3, 0], [0, 0]]]
    assert found.touched.tolist() == [[[5, 0], [0, 0]], [[0, 0], [7, 0]]]
    assert found.touched_bytes.tolist() == [4.0, 6.0]
    assert found.by_node.tolist() == [[5, 7], [3, 0]]


def test_a_boundary_must_pay() -> None:
    cost = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 2.0]])
    assert contiguous_parts(cost, 1.0, 3).tolist() == [0, 1, 0]
    assert contiguous_parts(cost, 2.0, 3).tolist() == [0, 0, 0]
    # With less, the two boundaries cost less than the piece between them.
    assert contiguous_parts(cost, 1.4, 3).tolist() == [0, 1, 0]
    assert contiguous_parts(cost, 0.0, 2).tolist() == [0, 0, 0]


def test_the_cheapest_division_that_fits_is_found() -> None:
    cost = np.array([[0.0, 9.0], [0.0, 5.0], [0.0, 1.0], [0.0, 3.0]])
    nodes = parts_that_fit(cost, np.ones(4), np.array([3.0, 4.0]), 0.1, 4)
    assert nodes is not None
    assert nodes.tolist() == [0, 0, 1, 0]
    assert parts_that_fit(cost, np.ones(4), np.array([4.0, 0.0]), 0.1, 4) is not None
    two = parts_that_fit(cost, np.ones(4), np.array([2.0, 2.0]), 0.1, 4)
    assert two is not None
    assert two.tolist() == [0, 0, 1, 1]
