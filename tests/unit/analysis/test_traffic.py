# SPDX-License-Identifier: Apache-2.0
"""Accesses by the nodes of threads and pages, also if a node is not known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.analysis.source_places import source_places
from numascape.analysis.traffic import SEVERAL, UNKNOWN, node_traffic, thread_nodes
from numascape.trace.schema import SCHEMAS


def trace(
    nodes_of_threads: list[list[int]], node_of_page: dict[int, int], machine: range = range(4)
) -> Any:
    """Each thread reads each of three pages 10 times as often as the page before; it writes once.

    `machine` are the nodes of the machine.
    """
    threads = range(len(nodes_of_threads))
    accesses = [(0, 0, page, t, 0, 10 ** (page + t), 1) for page in range(3) for t in threads]
    pages = [(0, 0, page, node) for page, node in node_of_page.items()]
    return SimpleNamespace(
        accesses=pl.DataFrame(accesses, schema=SCHEMAS["accesses"], orient="row"),
        first_touch=pl.DataFrame(schema=SCHEMAS["first_touch"]),
        placement=pl.DataFrame(pages, schema=SCHEMAS["placement"], orient="row"),
        threads=pl.DataFrame(
            {"thread": list(threads), "nodes": nodes_of_threads},
            schema={name: SCHEMAS["threads"][name] for name in ("thread", "nodes")},
        ),
        info=SimpleNamespace(
            machine=SimpleNamespace(nodes=[SimpleNamespace(node=node) for node in machine])
        ),
        _results={},
    )


def traffic(of: Any, keys: list[str]) -> list[tuple[int, ...]]:
    return sorted(node_traffic(of, of.accesses, keys).rows())


def test_traffic_is_summed_by_both_nodes() -> None:
    run = trace([[0], [1]], {0: 0, 1: 1, 2: 1})
    assert traffic(run, ["structure"]) == [
        *((0, 0, 0, 2), (0, 0, 1, 112)),
        *((0, 1, 0, 11), (0, 1, 1, 1102)),
    ]
    assert traffic(run, []) == [row[1:] for row in traffic(run, ["structure"])]
    by_thread = traffic(run, ["thread"])
    assert by_thread == [(0, 0, 0, 2), (0, 0, 1, 112), (1, 1, 0, 11), (1, 1, 1, 1102)]


@pytest.mark.parametrize("of_page_1", [{1: -1}, {1: -2}, {}])
def test_a_page_without_a_node_is_on_an_unknown_one(of_page_1: dict[int, int]) -> None:
    run = trace([[3]], {0: 0, **of_page_1, 2: 2})
    assert traffic(run, []) == [(3, UNKNOWN, 11), (3, 0, 2), (3, 2, 101)]


def test_all_is_on_the_only_node_of_a_machine() -> None:
    run = trace([[2], []], {0: -2}, range(2, 3))
    assert traffic(run, []) == [(2, 2, 2 + 11 + 101 + 11 + 101 + 1001)]
    assert thread_nodes(run).rows() == [(0, 2), (1, 2)]


def test_a_thread_of_several_nodes_is_on_none() -> None:
    run = trace([[2], [2, 2], [1, 2], []], {})
    assert thread_nodes(run).rows() == [(0, 2), (1, 2), (2, SEVERAL), (3, UNKNOWN)]


def places(*rows: tuple[str, str, int]) -> pl.DataFrame:
    schema = {name: SCHEMAS["source_lines"][name] for name in ("function", "file", "line")}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_places_in_the_source_are_numbered_in_order_after_the_unknown_one() -> None:
    some = places(("g", "b.c", 1), ("f", "a.c", 9), ("", "", 0), ("", "", 4), ("", "a.c", 0))
    more = places(("f", "a.c", 9), ("e", "a.c", 9), ("h", "", 0))
    assert source_places(some, more).rows() == [
        (0, "", "", 0),
        (1, "h", "", 0),
        (2, "", "", 4),
        (3, "", "a.c", 0),
        (4, "e", "a.c", 9),
        (5, "f", "a.c", 9),
        (6, "g", "b.c", 1),
    ]
