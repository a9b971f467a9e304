# SPDX-License-Identifier: Apache-2.0
"""All pages of a huge page have the first touch of its only fault."""

from __future__ import annotations

import polars as pl

from numascape.conversion.huge_pages import with_huge_pages
from numascape.trace.format import PAGE_BYTES
from numascape.trace.schema import SCHEMAS

HUGE = 512
START = 512 * 1000  # the page number of a multiple of 2 MiB


def tables(
    faults: list[tuple[int, int]], used: list[int], first: int, pages: int
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Tables of one instance of so many pages from `first` on; faults are pages and threads."""
    touched = [
        (0, 0, page, thread, order, "f", "f.c", 3, 10 + order, 0)
        for order, (page, thread) in enumerate(faults)
    ]
    names = ["structure", "instance", "page", "thread", "order", "function", "file", "line"]
    known = dict(zip([*names, "time_ns", "phase"], zip(*touched, strict=True), strict=True))
    schema = SCHEMAS["first_touch"]
    columns = {name: list(known[name]) if name in known else [0] * len(faults) for name in schema}
    accesses = pl.DataFrame(
        [(0, 0, page, 0, 0, 5, 5) for page in used], schema=SCHEMAS["accesses"], orient="row"
    )
    instances = pl.DataFrame(
        [(0, 0, first * PAGE_BYTES, pages * PAGE_BYTES)], schema=SCHEMAS["instances"], orient="row"
    )
    return pl.DataFrame(columns, schema=schema), accesses, instances


def touchers(
    faults: list[tuple[int, int]], used: list[int], first: int, pages: int
) -> dict[int, int]:
    """The threads that touched pages first."""
    found = with_huge_pages(*tables(faults, used, first, pages))
    assert found["order"].to_list() == list(range(found.height))
    assert found.schema == SCHEMAS["first_touch"]
    return dict(found.select("page", "thread").iter_rows())


def test_pages_that_never_faulted_came_with_their_huge_page() -> None:
    """Two blocks of 2 MiB lie within the instance, which begins 12 pages before the first."""
    found = touchers([(0, 1), (20, 2), (700, 3)], [0, 20, 30, 900], START - 12, 2 * HUGE + 20)
    assert found[0] == 1
    assert {found[page] for page in range(12, 12 + HUGE)} == {2}
    assert {found[page] for page in range(12 + HUGE, 12 + 2 * HUGE)} == {3}
    assert len(found) == 1 + 2 * HUGE


def test_small_pages_have_a_fault_each() -> None:
    faults = [(page, page % 3) for page in range(HUGE)]
    assert touchers(faults, list(range(HUGE)), START, HUGE) == dict(faults)


def test_a_block_with_two_faults_has_small_pages() -> None:
    assert touchers([(3, 1), (9, 2)], [3, 9, 200], START, HUGE) == {3: 1, 9: 2}


def test_a_page_without_others_in_use_may_be_small() -> None:
    assert touchers([(3, 1)], [3], START, HUGE) == {3: 1}


def test_a_block_of_several_instances_is_not_known() -> None:
    assert touchers([(3, 1)], [3, 200], START + 1, HUGE) == {3: 1}
