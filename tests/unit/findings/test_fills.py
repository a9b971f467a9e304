# SPDX-License-Identifier: Apache-2.0
"""Structures that several threads fill are judged by the work that follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from numascape.findings import Kind, examine, findings_of
from numascape.findings.fills import fills_in_any_order
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern
from unit.findings.fill_cases import FILL, PAGES, kind, looked_up_after_fill
from unit.findings.run_cases import kinds, run_of, subject_of


def test_what_is_only_read_after_it_was_filled_can_have_copies() -> None:
    (finding,) = (f for f in findings_of(run_of(looked_up_after_fill())) if f.structure == 0)
    assert finding.kind is Kind.SHARED_READ_MOSTLY
    assert any("copy on each node" in advice for advice in finding.advice)


@pytest.mark.parametrize(
    "known",
    [
        pytest.param({"filled_reads": FILL + 1}, id="mainly reads"),
        pytest.param({"repeated": 2}, id="fills it again"),
        pytest.param({"reads": 0.5 * FILL}, id="hardly used later"),
    ],
)
def test_a_phase_that_does_more_than_fill_is_work(known: dict[str, Any]) -> None:
    assert Kind.SHARED_READ_MOSTLY not in kind(**known)


@pytest.mark.parametrize(
    ("later", "found"),
    [
        pytest.param(0, Kind.SHARED_READ_MOSTLY, id="only reads"),
        pytest.param(FILL, Kind.SHARED_WRITTEN, id="writes, too"),
    ],
)
def test_what_threads_build_in_memory_that_others_touched_can_have_copies(
    later: int, found: Kind
) -> None:
    """A constructor touches a table, threads build it once, and then all look up its entries."""
    assert kind(touched=0.0, later_writes=later) == {found}


def test_the_lines_of_the_filling_still_tell_who_uses_which_part() -> None:
    pattern = looked_up_after_fill()
    for phase in (1, 2):
        for thread in (0, 1):
            pattern.see(0, 0, thread, 0xFFFF, phase=phase)
    subject = subject_of(run_of(pattern))
    assert set(subject.rows["phase"]) == {2}
    assert set(subject.seen.lines["phase"]) == {1, 2}


@pytest.mark.parametrize(
    ("later", "writes", "found"),
    [
        pytest.param(4, FILL, Kind.SHARED_READ_MOSTLY, id="all look up"),
        pytest.param(4, 8 * FILL, Kind.SHARED_READ_MOSTLY, id="filled by bytes"),
        pytest.param(1, FILL, Kind.REMOTE_FIRST_TOUCH, id="one reads all"),
    ],
)
def test_a_team_of_threads_fills_for_another_one(later: int, writes: int, found: Kind) -> None:
    pattern = Pattern("stages", 5 + later)
    table = pattern.structure("table", PAGES)
    for thread, part in enumerate(np.array_split(np.arange(PAGES), 4), 1):
        pattern.access(table, part, thread, 0, writes)
        pattern.touch(table, part, thread)
    for thread in range(5, 5 + later):
        pattern.access(table, np.arange(PAGES), thread, 4 * writes // later, 0)
    lives = [(0, 100), *[(10, 20)] * 4, *[(30, 40)] * later]
    run = run_of(pattern)
    vars(run.trace)["threads"] = run.trace.threads.with_columns(
        created_ns=pl.Series([begin for begin, _ in lives], dtype=pl.UInt64),
        ended_ns=pl.Series([end for _, end in lives], dtype=pl.UInt64),
    )
    assert kinds(examine(run.trace)) == {found}


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ({}, True),
        ({"phased": False}, False),
        ({"together": 39}, False),  # of 80 pages
        ({"together": 40}, True),
    ],
)
def test_threads_fill_pages_in_any_order(known: dict[str, Any], found: bool) -> None:
    assert fills_in_any_order(trace_of(scattered(**known)), 0) is found


def scattered(*, phased: bool = True, together: int = PAGES) -> Pattern:
    """Four threads write the first `together` pages, and thread 0 the others, in one phase."""
    pattern = Pattern("scattered", 4)
    phases = [pattern.phase(name, 7) for name in ("work", "fill") if phased]
    phase = phases[-1] if phased else 0
    s = pattern.structure("A", PAGES)
    pages, thread = np.arange(PAGES)[None, :], np.arange(4)[:, None]
    writes = np.where((pages < together) | (thread == 0), 9, 0)
    pattern.access(s, pages, thread, 0, writes, phase=phase)
    pattern.touch(s, np.arange(PAGES), 0, phase=phase)
    return pattern
