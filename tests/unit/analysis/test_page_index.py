# SPDX-License-Identifier: Apache-2.0
"""Pages have numbers that tables of pages share."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from numascape.analysis.page_index import PageIndex, index_of, positions
from numascape.analysis.sharing import PAGE
from numascape.errors import NumascapeError

Rows = list[tuple[int, int, int]]


def table(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(PAGE, pl.UInt32), orient="row")


def rows_of(index: PageIndex, rows: Rows) -> list[int]:
    return [int(row) for row in index.rows(table(rows))]


def test_pages_of_all_tables_are_sorted_and_numbered() -> None:
    index = index_of(table([(2, 0, 5), (0, 1, 0)]), table([(0, 0, 3), (2, 0, 5)]))
    assert index.pages.rows() == [(0, 0, 3, 0), (0, 1, 0, 1), (2, 0, 5, 2)]
    assert rows_of(index, [(2, 0, 5), (0, 0, 3), (2, 0, 5)]) == [2, 0, 2]


def test_pages_that_are_not_there_have_no_number() -> None:
    index = index_of(table([(0, 1, 3), (2, 0, 5)]))
    strange = [(0, 1, 2), (0, 0, 3), (0, 1, 4), (0, 2, 0), (1, 0, 0), (2, 0, 6), (3, 0, 0)]
    assert rows_of(index, strange) == [-1] * len(strange)
    assert rows_of(index_of(table([])), [(0, 0, 0)]) == [-1]


@pytest.mark.parametrize("far", [1, 1000])
def test_numbers_are_those_of_a_join(far: int) -> None:
    """Pages near each other are looked up in a table; pages far apart are searched."""
    chance = np.random.default_rng(1)
    drawn = [
        [tuple(map(int, row)) for row in chance.integers(0, (4, 3, 50), (300, 3)) * (1, 1, far)]
        for _ in range(2)
    ]
    known, asked = (table(rows) for rows in drawn)  # type: ignore[arg-type]
    index = index_of(known)
    assert index.pages.select(PAGE).equals(known.unique().sort(PAGE))
    joined = asked.join(index.pages, on=PAGE, how="left", maintain_order="left")["row"]
    assert index.rows(asked).tolist() == joined.fill_null(-1).to_list()


def test_more_pages_than_any_machine_has_are_an_error() -> None:
    last = (1 << 32) - 1
    with pytest.raises(NumascapeError, match="damaged"):
        index_of(table([(0, last, last)]))


def test_positions_are_those_among_the_distinct_keys() -> None:
    for size in (10, 10_000_000):
        at, found = positions(np.array([7, 3, 7, 0]), size)
        assert (at.tolist(), found.tolist()) == ([2, 1, 2, 0], [0, 3, 7])
