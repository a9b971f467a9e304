# SPDX-License-Identifier: Apache-2.0
"""Where pages would be after a remedy, page by page."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.findings.gain import _Model
from numascape.findings.nodes import Nodes
from unit.prediction.made_up import machine_of, nodes, trace_of


def after(accesses: list[tuple[int, int, int, int]], threads: int) -> Any:
    """The model of a run on two nodes with two threads each, and one of memory only."""
    machine = machine_of(3, 2, first=4, without_cpus=(2,))
    trace = trace_of(accesses, threads)
    where = nodes(4, 4, 5, -1)[:threads]
    placed = Nodes(machine, True, where, trace.first_touch)
    return SimpleNamespace(_trace=trace, _nodes=placed)


def placed(frame: pl.DataFrame) -> dict[int, int]:
    assert frame["share"].to_list() == [1.0] * frame.height
    return dict(frame.sort("page").select("page", "node").iter_rows())


def test_each_page_goes_to_the_node_that_uses_it_most() -> None:
    model = after(
        [
            *((0, 0, 3, 0), (0, 1, 0, 3), (0, 2, 5, 0)),  # 6 on node 4, 5 on node 5
            *((1, 0, 1, 1), (1, 2, 2, 0)),  # alike: the first node
            *((2, 2, 1, 0), (2, 3, 99, 0)),  # thread 3 is anywhere
            (3, 3, 9, 0),
        ],
        4,
    )
    assert placed(_Model._near_users(model, model._trace.accesses)) == {0: 4, 1: 4, 2: 5}


@pytest.mark.parametrize(
    ("fences", "on"),
    [
        ((0.0, 0.5, 1.0), [4, 4, 5, 5]),
        ((0.0, 0.375, 1.0), [4, 5, 5, 5]),  # the middle of page 1 is on the boundary
        ((0.0, 0.38, 1.0), [4, 4, 5, 5]),
        # Of four parts, each node has two; of three, the first one has the middle one, too.
        ((0.0, 0.1, 0.2, 0.8, 1.0), [4, 5, 5, 5]),
        ((0.0, 0.2, 0.6, 1.0), [4, 4, 5, 5]),
    ],
)
def test_parts_with_equal_accesses_go_to_the_nodes_in_order(
    fences: tuple[float, ...], on: list[int]
) -> None:
    model = after([(page, 0, 1, 0) for page in range(4)], 1)
    finding: Any = SimpleNamespace(structure=0, even_parts=fences)
    found = placed(_Model._in_parts(model, model._trace.accesses, finding))
    assert [found[page] for page in range(4)] == on
