# SPDX-License-Identifier: Apache-2.0
"""The use of the same pages by each pair of threads, in numbers that are easy to check."""

from __future__ import annotations

import polars as pl

from numascape.analysis.sharing import shared_accesses

COLUMNS = ["structure", "instance", "page", "thread", "reads", "writes"]


def shared(*rows: tuple[int, int, int, int, int, int], threads: int = 3) -> list[list[int]]:
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    found: list[list[int]] = shared_accesses(table, threads).tolist()
    return found


def test_two_threads_share_the_smaller_of_their_accesses_to_each_page() -> None:
    assert shared(
        *((0, 0, 7, 0, 5, 1), (0, 0, 7, 1, 1, 3), (0, 0, 7, 2, 2, 0)),
        *((0, 0, 8, 1, 1, 0), (0, 0, 8, 0, 0, 9)),
    ) == [[15, 5, 2], [5, 5, 2], [2, 2, 2]]


def test_pages_of_other_structures_and_instances_are_others() -> None:
    one = (0, 0, 7, 0, 1, 0)
    for other in ((1, 0, 7, 1, 1, 0), (0, 1, 7, 1, 1, 0), (0, 0, 6, 1, 1, 0)):
        assert shared(one, other, threads=2) == [[1, 0], [0, 1]]


def test_rows_without_accesses_do_not_count() -> None:
    assert shared((0, 0, 7, 0, 0, 0), (0, 0, 7, 1, 2, 0), threads=2) == [[0, 0], [0, 2]]
    assert shared(threads=2) == [[0, 0], [0, 0]]
