# SPDX-License-Identifier: Apache-2.0
"""Facts about structures from a few accesses, with sums that are easy to check."""

from __future__ import annotations

import polars as pl
import pytest

from numascape.analysis.facts import Facts, per_thread_pages, structure_facts
from numascape.trace.schema import SCHEMAS

Access = tuple[int, int, int, int, int]
"""Structure, page, thread, reads, writes."""


def facts(
    accesses: list[Access],
    touches: list[tuple[int, int, int, str, int]] = (),  # type: ignore[assignment]
) -> dict[int, Facts]:
    """Touches: structure, page, thread, function, line."""
    table = pl.DataFrame(
        [(s, 0, page, thread, 0, reads, writes) for s, page, thread, reads, writes in accesses],
        schema=SCHEMAS["accesses"],
        orient="row",
    )
    first = pl.DataFrame(
        [
            (s, 0, page, thread, 0, order, 0, function, "a.c", line)
            for order, (s, page, thread, function, line) in enumerate(touches)
        ],
        schema=SCHEMAS["first_touch"],
        orient="row",
    )
    return structure_facts(per_thread_pages(table, 1), first)


def test_a_structure_in_numbers() -> None:
    found = facts(
        [(0, 0, 0, 6, 0), (0, 0, 1, 1, 1), (0, 1, 1, 0, 2), (0, 2, 2, 0, 0)],
        [(0, 0, 0, "f", 1), (0, 1, 0, "g", 2), (0, 3, 1, "g", 2)],
    )[0]
    assert (found.reads, found.writes, found.accesses) == (7, 3, 10)
    assert (found.threads, found.writers) == (2, 1)  # only thread 2 has rows
    assert (found.busiest_thread, found.busiest_share) == (0, 0.6)
    assert found.dominance == pytest.approx((6 + 2) / 10)
    assert found.threads_per_page == pytest.approx((8 * 2 + 2 * 1) / 10)
    assert (found.touched_pages, found.first_touched_pages) == (4, 3)
    assert found.first_toucher == 0
    assert found.first_toucher_share == pytest.approx(2 / 3)
    assert found.first_toucher_accesses == 0.6
    assert found.own_share == 0.6
    assert found.place == ("g", "a.c", 2)


def test_of_equals_the_first_counts() -> None:
    found = facts(
        [(0, 0, 5, 3, 0), (0, 0, 2, 3, 0)],
        [(0, 0, 7, "g", 4), (0, 1, 4, "f", 9), (0, 2, 1, "f", 8), (0, 3, 1, "g", 4)],
    )[0]
    assert found.busiest_thread == 2
    assert found.first_toucher == 1
    assert found.place == ("g", "a.c", 4)
    alike = facts([], [(0, 0, 3, "f", 9), (0, 1, 1, "f", 8)])[0]
    assert (alike.first_toucher, alike.place) == (1, ("f", "a.c", 8))


def test_of_equal_places_the_first_function_counts() -> None:
    touches = [(0, 0, 0, "g", 4), (0, 1, 0, "f", 9)]
    assert facts([], touches)[0].place == ("f", "a.c", 9)
    assert facts([], touches[::-1])[0].place == ("f", "a.c", 9)


def test_of_equal_places_the_first_file_counts() -> None:
    rows = [(0, 0, page, 0, 0, page, 0, "f", f"{'ba'[page]}.c", 4 - page) for page in range(2)]
    first = pl.DataFrame(rows, schema=SCHEMAS["first_touch"], orient="row")
    assert structure_facts(pl.DataFrame(schema=SCHEMAS["accesses"]), first)[0].place == (
        "f",
        "a.c",
        3,
    )


def test_what_is_not_known_is_zero() -> None:
    touched = facts([], [(3, 0, 1, "f", 1)])[3]
    assert (touched.reads, touched.writes, touched.threads, touched.writers) == (0, 0, 0, 0)
    assert (touched.busiest_thread, touched.busiest_share, touched.dominance) == (0, 0.0, 0.0)
    assert (touched.threads_per_page, touched.own_share, touched.others_dominance) == (0, 0, 0)
    assert touched.first_toucher_accesses == 0.0
    used = facts([(2, 0, 1, 4, 0)])[2]
    assert (used.first_toucher, used.first_toucher_share, used.place) == (None, 0.0, ("", "", 0))
    assert (used.touched_pages, used.first_touched_pages) == (1, 0)


def test_others_are_judged_without_a_thread_that_makes_half() -> None:
    others = [(0, 0, 1, 6, 0), (0, 0, 2, 2, 0), (0, 1, 2, 8, 0)]
    half = facts([(0, 0, 0, 16, 0), *others])[0]
    assert half.others_dominance == pytest.approx((6 + 8) / 16)
    assert facts([(0, 0, 0, 15, 0), *others])[0].others_dominance == 0.0
    two = facts([(0, 0, 0, 16, 0), (0, 0, 1, 1, 0)])[0]
    assert two.others_dominance == 0.0


def test_one_access_is_a_use() -> None:
    found = facts([(0, 0, 3, 1, 0), (0, 0, 4, 0, 1)], [(0, 0, 3, "f", 1)])[0]
    assert (found.threads, found.writers, found.touched_pages) == (2, 1, 1)
    assert (found.threads_per_page, found.dominance, found.own_share) == (2.0, 0.5, 0.5)
    assert facts([(0, 0, 3, 0, 0)], [(0, 0, 3, "f", 1)])[0].threads == 0


def test_accesses_of_all_phases_are_one_row() -> None:
    table = pl.DataFrame(
        [(0, 0, 0, 0, phase, 1, 2) for phase in range(3)], schema=SCHEMAS["accesses"], orient="row"
    )
    assert per_thread_pages(table, 3).rows() == [(0, 0, 0, 0, 3, 6)]
