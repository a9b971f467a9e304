# SPDX-License-Identifier: Apache-2.0
"""Strided, reversed and straddling loops, and the C library's memory functions."""

from collections import Counter
from typing import Any

import pytest

PAGE = 4096
WORDS = 8 * PAGE // 8


def pages_of_loop(count: int, stride: int, start: int = 0, width: int = 8) -> dict[int, int]:
    """How many accesses of `width` bytes at start, start + stride, ... touch each page."""
    pages: dict[int, int] = {}
    for k in range(count):
        first = start + k * stride
        for page in range(first // PAGE, (first + width - 1) // PAGE + 1):
            pages[page] = pages.get(page, 0) + 1
    return pages


def pages_of_columns(columns: int, count: int, stride: int) -> dict[int, int]:
    """The same for loops that begin at 0, 8, 16, ..."""
    total: Counter[int] = Counter()
    for column in range(columns):
        total.update(pages_of_loop(count, stride, start=8 * column))
    return dict(total)


@pytest.fixture(scope="module")
def strides(record: Any) -> Any:
    return record("strides")


@pytest.mark.parametrize(
    ("array", "pages", "reads", "writes"),
    [
        ("forward", pages_of_loop(WORDS, 8), 1, 0),
        ("backward", pages_of_loop(WORDS, -8, start=8 * PAGE - 8), 0, 1),
        ("every_third", pages_of_loop((WORDS + 2) // 3, 24), 1, 0),
        ("one_a_page", pages_of_loop(8, PAGE), 0, 1),
        ("misaligned", pages_of_loop(WORDS - 1, 8, start=4), 1, 0),
        ("repeated", pages_of_loop(WORDS, 8), 1000, 0),
        ("added", pages_of_loop(WORDS, 8), 1, 1),
        ("columns", pages_of_columns(200, 10, 3072), 1, 0),
    ],
)
def test_loop_counts_exactly(
    strides: Any, array: str, pages: dict[int, int], reads: int, writes: int
) -> None:
    expected = {page: (count * reads, count * writes) for page, count in pages.items()}
    assert strides.pages(array) == expected


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("options", [{}, {"traffic": True}], ids=str)
def test_an_access_counts_on_each_page_that_it_lies_on(
    record: Any, size: int, options: dict[str, bool]
) -> None:
    starts = range(PAGE - 24, PAGE + 8)
    first = sum(at < PAGE for at in starts)
    second = sum(at + size > PAGE for at in starts)
    counted = record("page_ends", **options).pages(f"of_{size}")
    assert counted == {0: (first, 0), 1: (second, 0)}


# The accesses of each group, as in page_ends.c: distance, bytes, reads and writes.
GROUPS = {
    3: [(0, 1, 1, 0), (1, 2, 0, 1)],
    17: [(0, 8, 1, 0), (16, 1, 0, 1)],
    200: [(16, 8, 1, 0), (0, 4, 1, 0), (99, 2, 1, 1), (192, 8, 0, 1), (8, 8, 1, 0)],
}


@pytest.mark.parametrize("span", GROUPS)
@pytest.mark.parametrize("options", [{}, {"traffic": True}], ids=str)
def test_accesses_that_are_counted_together_count_on_their_own_pages(
    record: Any, span: int, options: dict[str, bool]
) -> None:
    pages = {0: [0, 0], 1: [0, 0]}
    for start in range(PAGE - span - 24, PAGE + 8):
        for distance, size, reads, writes in GROUPS[span]:
            first = start + distance
            for page in range(first // PAGE, (first + size - 1) // PAGE + 1):
                pages[page][0] += reads
                pages[page][1] += writes
    expected = {page: (reads, writes) for page, (reads, writes) in pages.items()}
    assert record("page_ends", **options).pages(f"group_of_{span}") == expected


def test_untouched_array_has_no_accesses(strides: Any) -> None:
    assert strides.pages("untouched") == {}


def test_totals_are_the_sum_of_all_pages(strides: Any) -> None:
    totals = strides.trace.info.totals
    assert strides.trace.accesses["reads"].sum() == totals.reads
    assert strides.trace.accesses["writes"].sum() == totals.writes


@pytest.mark.parametrize(
    ("array", "pages", "reads", "writes"),
    [
        ("copied_from", range(64), True, False),
        ("copied_to", range(64), False, True),
        ("moved", range(1, 63), True, True),
        ("filled", range(64), False, True),
        ("compared", range(64), True, False),
        ("compared_with", range(64), True, False),
    ],
)
def test_memory_functions_touch_every_byte(
    record: Any, array: str, pages: range, reads: bool, writes: bool
) -> None:
    # A page takes from 64 accesses (64-byte vectors) to 4096 (bytes), and a few at either end.
    counted = record("memory_functions").pages(array)
    assert set(counted) >= set(pages)
    for page in pages:
        page_reads, page_writes = counted[page]
        assert (64 <= page_reads <= 4096 + 16) == reads, page
        assert (64 <= page_writes <= 4096 + 16) == writes, page
