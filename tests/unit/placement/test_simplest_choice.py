# SPDX-License-Identifier: Apache-2.0
"""A simpler placement is chosen if it is nearly as fast for the traffic of the structure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from numascape.placement.planning import _simplest_of_the_best, _spread_evenly
from numascape.placement.structure_choices import UseByNode
from unit.placement.test_node_model import model


@pytest.mark.parametrize(
    ("slower", "others", "chosen"),
    [(1.019, 0.0, 0), (1.021, 0.0, 1), (1.009, 10.0, 0), (1.011, 10.0, 1), (1.001, 150.0, 0)],
)
def test_two_percent_of_the_structures_own_time_decide(
    slower: float, others: float, chosen: int
) -> None:
    simple, fast = (SimpleNamespace(traffic=np.array([[10.0 - i, i]])) for i in range(2))
    rest = np.array([[others, 0.0]])
    seconds = {10.0 + others: slower, 9.0 + others: 1.0}
    nodes: Any = SimpleNamespace(seconds=lambda traffic, _: seconds[float(traffic[0, 0])])
    offered: Any = [simple, fast]
    found = _simplest_of_the_best(offered, rest, nodes, 4.0)
    assert found is offered[chosen]


def test_what_is_not_decided_yet_counts_as_interleaved_over_nodes_with_cpus() -> None:
    nodes = model([1.0] * 3, [2, 2, 0])
    lines = np.zeros((2, 1, 3))
    lines[0, 0] = [8.0, 2.0, 0.0]
    lines[1, 0] = [6.0, 0.0, 0.0]
    nothing = np.zeros(3)
    use = UseByNode(lines, np.ones(1), np.zeros((2, 3, 3)), nothing, np.zeros(1))
    spread = _spread_evenly([use, use], nodes)
    assert spread.tolist() == [
        [[8.0, 8.0, 0.0], [2.0, 2.0, 0.0], [0.0] * 3],
        [[6.0, 6.0, 0.0], [0.0] * 3, [0.0] * 3],
    ]
    assert _spread_evenly([], nodes).tolist() == np.zeros((2, 3, 3)).tolist()
