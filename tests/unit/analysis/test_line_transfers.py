# SPDX-License-Identifier: Apache-2.0
"""Sums of transfers, and the parts of a line that threads use, with short masks."""

from __future__ import annotations

import polars as pl
import pytest

from numascape.analysis.line_transfers import (
    LineSums,
    PartsOfLines,
    between_places,
    between_threads,
    by_structure,
    parts_of_lines,
    shared_lines_of_pages,
)
from numascape.trace.format import PAGE_LINES
from numascape.trace.schema import SCHEMAS

# The tests give values for these columns; all other columns are empty.
Row = dict[str, int | str]


def transfers(*rows: Row) -> pl.DataFrame:
    """Rows of the table; missing values are 0 or empty, and all transfers are travelling."""
    schema = SCHEMAS["transfers"]
    filled = []
    for row in rows:
        whole: Row = {name: "" if type_ == pl.String else 0 for name, type_ in schema.items()}
        whole |= {"transfers": 1, "travelling": row.get("transfers", 1), "judged": 1, **row}
        filled.append(whole)
    return pl.DataFrame(filled, schema=schema)


def parts(*masks: tuple[int, int, int], transfers_: int = 1) -> PartsOfLines | None:
    """Rows for one line; a mask is the taking thread, the first byte and the number of bytes."""
    rows: list[Row] = [
        {"thread": thread, "bytes": ((1 << size) - 1) << first, "transfers": transfers_}
        for thread, first, size in masks
    ]
    return parts_of_lines(transfers(*rows))


def test_false_sharing_is_the_rest_of_what_is_judged() -> None:
    assert LineSums(9, 9, 8, 2).false_sharing == 0.75
    assert LineSums(9, 9, 0, 0).false_sharing == 0.0


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        ([(0, 0, 8), (1, 8, 8), (2, 16, 8)], PartsOfLines(8, 8, 3)),
        ([(0, 0, 4), (1, 16, 8), (2, 24, 12)], PartsOfLines(8, 16, 3)),
        ([(0, 0, 4), (1, 16, 8)], PartsOfLines(8, 16, 2)),
        # Both ends of a line with two users: their parts continue in other lines.
        ([(0, 0, 24), (1, 24, 40)], PartsOfLines(40, 0, 2)),
        ([(0, 1, 23), (1, 24, 40)], PartsOfLines(40, 23, 2)),
        ([(0, 0, 24), (1, 24, 39)], PartsOfLines(39, 24, 2)),
        ([(0, 0, 16), (1, 16, 16), (2, 32, 32)], PartsOfLines(16, 16, 3)),
        # All threads use the same first byte.
        ([(0, 0, 8), (1, 0, 8)], PartsOfLines(8, 0, 2)),
    ],
)
def test_parts_of_a_line(masks: list[tuple[int, int, int]], expected: PartsOfLines) -> None:
    assert parts(*masks) == expected


def test_a_line_with_bytes_of_one_thread_has_no_parts() -> None:
    assert parts((0, 0, 8)) is None
    assert parts((0, 0, 8), (0, 8, 8)) is None  # the same thread
    assert parts((0, 0, 8), (1, 0, 0)) is None


def test_a_thread_that_only_writes_has_the_bytes_that_others_took() -> None:
    taken: Row = {"thread": 1, "bytes": 0xFF00, "from_thread": 0, "from_bytes": 0xFF}
    assert parts_of_lines(transfers(taken)) == PartsOfLines(8, 8, 2)


def test_the_median_of_lines_is_weighted_by_their_transfers() -> None:
    rows: list[Row] = []
    for line, (size, count) in enumerate([(2, 1), (4, 1), (8, 1), (16, 2)]):
        first = {"cache_line": line, "transfers": count}
        rows.append({**first, "thread": 0, "bytes": (1 << size) - 1})
        rows.append({**first, "thread": 1, "bytes": ((1 << size) - 1) << size})
    assert parts_of_lines(transfers(*rows)) == PartsOfLines(8, 8, 2)
    assert parts_of_lines(transfers(*rows[2:])) == PartsOfLines(8, 8, 2)  # exactly half
    assert parts_of_lines(transfers(*rows[4:])) == PartsOfLines(16, 16, 2)


def test_places_are_those_of_judged_transfers_most_first() -> None:
    found = between_places(
        transfers(
            {"function": "f", "judged": 2, "true_sharing": 1},
            {"function": "g", "judged": 0},
            {"function": "h", "judged": 3},
            {"function": "f", "judged": 2},
        )
    )
    assert found.select("function", "judged", "true_sharing").rows() == [("f", 4, 1), ("h", 3, 0)]


def test_pairs_of_threads_have_most_transfers_first_and_then_the_first_threads() -> None:
    pairs = ((2, 1, 4), (1, 2, 4), (1, 0, 4), (0, 3, 1), (3, 0, 2), (3, 0, 3))
    made: list[Row] = [{"from_thread": a, "thread": b, "transfers": n} for a, b, n in pairs]
    found = between_threads(transfers(*made))
    rows = found.select("from_thread", "thread", "transfers").rows()
    assert rows == [(3, 0, 5), (1, 0, 4), (1, 2, 4), (2, 1, 4), (0, 3, 1)]


def test_places_with_as_many_transfers_are_in_order() -> None:
    names = [("g", "a.c", 1), ("f", "b.c", 1), ("f", "a.c", 2), ("f", "a.c", 1)]
    rows: list[Row] = [dict(zip(("function", "file", "line"), one, strict=True)) for one in names]
    found = between_places(transfers(*rows))
    assert found.select("function", "file", "line").rows() == names[::-1]


def shared(*rows: Row) -> list[int]:
    return shared_lines_of_pages(transfers(*rows)).sort("page")["shared_lines"].to_list()


def test_lines_that_several_threads_use_are_counted_by_page() -> None:
    assert shared({"cache_line": 3}, {"cache_line": 3}, {"cache_line": 5}, {"page": 1}) == [2, 1]
    # The lines were added up, so none is known.
    assert shared({"cache_line": -1}) == [PAGE_LINES]
    assert shared({"cache_line": -1, "travelling": 0}) == [0]


@pytest.mark.parametrize(("once", "lines"), [(64, 1), (65, 2), (126, 63), (127, 64), (500, 64)])
def test_a_line_of_a_page_may_go_once_to_its_user(once: int, lines: int) -> None:
    filled: Row = {"cache_line": -1, "transfers": once, "travelling": 0}
    assert shared({"cache_line": 1}, filled) == [lines]


def test_rows_are_divided_by_structure_in_order() -> None:
    rows = transfers({"structure": 4}, {"structure": 1}, {"structure": 4})
    assert [(number, part.height) for number, part in by_structure(rows)] == [(1, 1), (4, 2)]
