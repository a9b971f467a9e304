# SPDX-License-Identifier: Apache-2.0
"""A number that is exactly at a threshold counts on the right side of it.

All numbers are exact in floating point, or rounded like the threshold.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from numascape.findings.find import of_structure
from numascape.findings.subject import Subject
from numascape.findings.thresholds import sureness
from numascape.naming.runtime_objects import RUNTIME_NAMES
from synthetic.pattern import Pattern
from unit.findings.run_cases import beside_own_memory, run_of, subject_of


def far(own_share: float, remote: float | None = None, toucher: int | None = 0) -> bool:
    subject: Any = SimpleNamespace(
        whole=SimpleNamespace(first_toucher=toucher), own_share=own_share, remote=remote
    )
    return Subject.far_from(subject, 0.5)


def test_what_is_far_is_used_by_others_and_on_other_nodes() -> None:
    assert (far(0.5), far(0.51)) == (True, False)
    assert (far(0.0, 0.1), far(0.0, 0.09)) == (True, False)
    assert not far(0.0, toucher=None)


def test_sureness_is_a_half_at_the_threshold_and_one_where_it_is_certain() -> None:
    assert [sureness(value, 2.0, 4.0) for value in (1.0, 2.0, 3.0, 4.0, 9.0)] == [
        *(0.5, 0.5, 0.75, 1.0, 1.0)
    ]


@pytest.mark.parametrize(
    ("name", "is_the_users"),
    [("A", True), (min(RUNTIME_NAMES), False), ("variables under a page of sum", False)],
)
def test_only_memory_that_the_user_can_place_has_findings(name: str, is_the_users: bool) -> None:
    pattern = Pattern("run", 4)
    s = pattern.structure(name, 64)
    pattern.access(s, np.arange(64)[None, :], np.arange(4)[:, None], 20_000, 20_000)
    pattern.touch(s, np.arange(64), 0)
    assert bool(of_structure(subject_of(run_of(pattern)))) is is_the_users


@pytest.mark.parametrize(
    ("name", "file", "local", "told"),
    [
        ("work+41", "/src/a.py", True, False),
        ("work+41", "/src/a.py", False, True),  # the structure has a problem
        ("strip", "/src/a.py", True, True),
        ("sig.std()", "/src/a.py", True, False),
        ("work+42", "/src/a.py", True, True),  # a variable may have such a name in other lines
        ("work+41", "/src/a.c", True, True),
    ],
)
def test_an_array_without_a_variable_is_told_only_if_something_is_wrong(
    name: str, file: str, local: bool, told: bool
) -> None:
    pattern = Pattern("numpy", 4)
    s = pattern.structure(name, 64, file=file, line=41)
    page = np.arange(64)
    pattern.access(s, page, page // 16, 2000, 2000)
    pattern.touch(s, page, page // 16 if local else 0)
    assert bool(of_structure(subject_of(run_of(pattern)))) is told


@pytest.mark.parametrize(
    ("share", "split", "told"),
    [(0.009, False, True), (0.009, True, False), (0.011, False, True), (0.011, True, True)],
)
def test_what_needs_no_action_is_told_only_if_it_has_many_accesses(
    share: float, split: bool, told: bool
) -> None:
    subject = subject_of(beside_own_memory(share, split=split))
    assert bool(of_structure(subject)) is told
