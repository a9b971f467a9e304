# SPDX-License-Identifier: Apache-2.0
"""The writes of a serial initialisation, and the threads that would make them in parallel."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from numascape.prediction import demand_of, speeds_of
from numascape.prediction.initialisation import initialised_by_users, with_initialisation
from numascape.trace.format import PAGE_BYTES
from numascape.trace.schema import SCHEMAS
from unit.prediction.made_up import machine_of, trace_of


def initial(whole: Any) -> list[tuple[int, int]]:
    """Page and thread of the accesses in the additional phase."""
    made = with_initialisation(whole)
    rows = made.accesses.filter(pl.col("phase") == whole.phases.height)
    return sorted(rows.select("page", "thread").iter_rows())


@pytest.mark.parametrize(
    ("own", "others", "moved"),
    [
        ((0, PAGE_BYTES), (5000, 0), True),
        ((0, PAGE_BYTES + 1), (5000, 0), False),  # more than a write for each byte
        ((900, 100), (0, 1001), True),
        ((900, 101), (0, 1001), False),  # it uses the page most
    ],
)
def test_writes_of_the_toucher_of_a_page_that_another_uses_more(
    own: tuple[int, int], others: tuple[int, int], moved: bool
) -> None:
    trace = trace_of([(0, 0, *own), (0, 1, *others)], 2, first_touch=[(0, 0)])
    assert initial(trace) == ([(0, 0)] if moved else [])


@pytest.mark.parametrize(("own", "serial"), [(8, True), (7, False)])
def test_a_first_touch_is_serial_from_four_fifths_of_the_pages(own: int, serial: bool) -> None:
    accesses = [row for page in range(10) for row in ((page, 0, 0, 9), (page, 1, 99, 0))]
    touched = [(page, 0 if page < own else 1) for page in range(10)]
    trace = trace_of(accesses, 2, first_touch=touched)
    assert (with_initialisation(trace) is not trace) is serial
    # Then all writes of this thread count, also those to pages of the others.
    assert initial(trace) == ([(page, 0) for page in range(10)] if serial else [])


def test_the_additional_phase_is_the_last_and_runs_once() -> None:
    trace = trace_of([(0, 0, 0, 9), (0, 1, 99, 0)], 2, first_touch=[(0, 0)], repetitions=7)
    made = with_initialisation(trace)
    assert made.phases.select("phase", "name", "repetitions").rows() == [
        *((0, "run", 7), (1, "initialisation", 1)),
    ]
    assert with_initialisation(made) is made
    assert made.accesses.height == trace.accesses.height


@pytest.mark.parametrize(("phase", "moved"), [(0, [(0, 0)]), (1, [])])
def test_accesses_in_a_parallel_region_are_work(phase: int, moved: list[tuple[int, int]]) -> None:
    trace: Any = trace_of([(0, 0, 0, 9), (0, 1, 99, 0)], 2, first_touch=[(0, 0)])
    phases = [(0, "run", "", 0, 0, 1, 1), (1, "region", "a.c", 3, 0, 1, 1)]
    trace.phases = pl.DataFrame(phases, schema=SCHEMAS["phases"], orient="row")
    trace.accesses = trace.accesses.with_columns(phase=pl.lit(phase, pl.UInt32))
    assert initial(trace) == moved


def moved_to(accesses: list[tuple[int, int, int, int]]) -> dict[int, int]:
    """The thread that initialises each page after the change."""
    trace = with_initialisation(trace_of(accesses, 3, first_touch=[(p, 0) for p in range(4)]))
    demand = demand_of(trace, speeds_of(machine_of(2)))
    after = initialised_by_users(demand, [0], 1)
    assert after.accesses.sum() == demand.accesses.sum()
    sums = np.zeros_like(after.accesses)
    np.add.at(sums, (after.phase, after.thread), after.counts)
    assert sums.tolist() == after.accesses.tolist()
    assert initialised_by_users(demand, [7], 1).thread.tolist() == demand.thread.tolist()
    of_phase = after.phase == 1
    return dict(zip(after.page[of_phase].tolist(), after.thread[of_phase].tolist(), strict=True))


def test_the_thread_with_most_other_accesses_initialises_a_page() -> None:
    assert moved_to(
        [
            *((0, 0, 0, 9), (0, 1, 50, 0), (0, 2, 51, 0)),
            *((1, 0, 0, 9), (1, 2, 50, 0), (1, 1, 50, 0)),  # alike: the first
            *((2, 0, 0, 9), (2, 1, 10, 0)),
        ]
    ) == {0: 2, 1: 1, 2: 1}
