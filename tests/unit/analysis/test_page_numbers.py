# SPDX-License-Identifier: Apache-2.0
"""Pages have numbers in their order, and sums by keys are those of the rows."""

from __future__ import annotations

import polars as pl
import pytest

from numascape.analysis.page_numbers import page_numbers, summed_by
from numascape.analysis.sharing import PAGE

_LARGEST = (1 << 32) - 1


def pages(*rows: tuple[int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(PAGE, pl.UInt32), orient="row")


@pytest.mark.parametrize(
    "table",
    [
        pages((0, 0, 0), (0, 0, 1), (0, 1, 0), (2, 0, 0), (2, 0, 0)),
        pages((2, 0, 1), (0, 1, 0), (0, 0, 1), (2, 0, 1)),
        # They are so far apart that a number for each page between them does not fit into memory.
        pages((0, 0, _LARGEST), (1, _LARGEST, 0), (1, 0, 3), (0, 0, _LARGEST)),
        # The three columns do not fit into one number of 64 bits.
        pages((_LARGEST - 1, 1, _LARGEST), (5, _LARGEST, 0), (5, _LARGEST, 0)),
    ],
)
def test_numbers_of_pages_are_in_the_order_of_pages(table: pl.DataFrame) -> None:
    numbers, bound = page_numbers(table)
    number = numbers.tolist()
    assert max(number) < bound <= 4 * (1 + table.height)
    for i, one in enumerate(table.rows()):
        for j, other in enumerate(table.rows()):
            assert (number[i] < number[j]) is (one < other)
            assert (number[i] == number[j]) is (one == other)


def test_a_table_without_rows_has_no_numbers() -> None:
    number, bound = page_numbers(pages())
    assert (len(number), bound) == (0, 0)


@pytest.mark.parametrize("far", [3, _LARGEST])
def test_sums_are_in_the_order_of_keys(far: int) -> None:
    rows = [(1, far, 2, 5), (0, 7, 1, 1), (1, far, 2, 6), (1, 0, 9, 1 << 60), (1, 0, 9, 1)]
    schema = {"structure": pl.UInt32, "page": pl.UInt32, "thread": pl.UInt32, "reads": pl.UInt64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    found = summed_by(table, ["structure", "page", "thread"], ["reads"])
    assert found.rows() == [(0, 7, 1, 1), (1, 0, 9, (1 << 60) + 1), (1, far, 2, 11)]
    assert found.schema == table.schema
    assert summed_by(table.clear(), ["structure", "page", "thread"], ["reads"]).rows() == []
    # A table that has one row for each combination does not change.
    assert summed_by(found, ["structure", "page", "thread"], ["reads"]).equals(found)
