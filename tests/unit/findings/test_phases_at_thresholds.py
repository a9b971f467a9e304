# SPDX-License-Identifier: Apache-2.0
"""Users that change between phases, exactly at a threshold, count on the right side.

All numbers are exact in floating point, or rounded like the threshold.
"""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings.changes_between_phases import Change, filled_in, users_by_phase
from synthetic.pattern import Pattern
from unit.findings.pattern_cases import rows
from unit.findings.run_cases import run_of, subject_of

Counts = dict[tuple[int, int, int], tuple[int, int]]

# In phase 0, pages 0 and 1 have the users 0 and 1; in phase 1 it is the other way round.
SWAPPED: Counts = {(0, 0, 0): (54, 0), (0, 1, 1): (54, 0), (1, 0, 1): (0, 36), (1, 1, 0): (36, 0)}


def by_phase(counts: Counts, filled_in: int | None = None) -> Change:
    return users_by_phase(rows(counts), filled_in)


def test_a_page_s_user_changes_with_the_phase() -> None:
    assert by_phase(SWAPPED) == Change(1.0, 0, 1)
    assert by_phase({key: made for key, made in SWAPPED.items() if key[0] == 0}) == Change()
    assert by_phase(SWAPPED, filled_in=0) == Change()
    # Page 0 keeps its user; it has 54 / 108 of the use in phase 0 and 6 / 42 in phase 2.
    partly: Counts = {**SWAPPED, (2, 0, 0): (6, 0), (2, 1, 2): (0, 36)}
    del partly[1, 0, 1], partly[1, 1, 0]
    assert by_phase(partly) == Change(1 / 2, 0, 2)


def test_a_tenth_of_the_work_is_enough_for_a_phase_to_count() -> None:
    # 12 of 120 accesses, then 12 of 121.
    tenth: Counts = {(0, 0, 0): (54, 0), (0, 1, 1): (54, 0), (1, 0, 1): (0, 6), (1, 1, 0): (6, 0)}
    assert by_phase(tenth) == Change(1.0, 0, 1)
    assert by_phase({**tenth, (0, 0, 0): (55, 0)}) == Change()


def test_a_stencil_counts_as_much_as_a_copy() -> None:
    # In one of two phases, each element is read five times, but only once from memory.
    stencil: Counts = {(0, 0, 0): (500, 0), (0, 1, 1): (500, 0), (1, 0, 1): (0, 120)}
    assert by_phase({**stencil, (1, 1, 0): (0, 120)}) == Change(1.0, 0, 1)


def test_phases_in_which_pages_are_shared_decide_if_they_have_most_accesses() -> None:
    # Half of the accesses are in phases with one user per page; then less.
    shared: Counts = {(2, page, thread): (45, 0) for page in (0, 1) for thread in (0, 1)}
    assert by_phase({**SWAPPED, **shared}) == Change(1.0, 0, 1)
    assert by_phase({**SWAPPED, **shared, (2, 0, 0): (46, 0)}) == Change()


@pytest.mark.parametrize(
    ("repetitions", "reads", "fills"), [(1, 500, True), (2, 0, False), (1, 501, False)]
)
def test_what_runs_once_touches_pages_first_and_mainly_writes_fills_a_structure(
    repetitions: int, reads: int, fills: bool
) -> None:
    pattern = Pattern("filled", 2)
    pattern.phase("outside")
    fill = pattern.phase("fill", line=3, repetitions=repetitions)
    work = pattern.phase("work", line=9, repetitions=2)
    page = np.arange(64)
    s = pattern.structure("A", 64)
    pattern.access(s, page, page % 2, reads, 500, phase=fill)
    pattern.access(s, page, page // 32, 500, 500, phase=work)
    pattern.touch(s, page, page % 2, phase=fill)
    assert (filled_in(subject_of(run_of(pattern))) == fill) is fills
