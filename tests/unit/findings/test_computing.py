# SPDX-License-Identifier: Apache-2.0
"""A run that uses the CPU much longer than its accesses take is told so, and left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from numascape.findings import Finding, Kind, findings_of
from numascape.findings.verdict import verdict
from synthetic.pattern import Pattern
from unit.findings.run_cases import run_of

THREADS = 4
PAGES = 400


def tiles(access_ns: float, *, by_chance: bool = False) -> Pattern:
    """Thread 0 fills a picture, and a thread writes twice the mean of its part."""
    pattern = Pattern("tiles", THREADS)
    pattern.access_ns = access_ns
    page = np.arange(PAGES)
    s = pattern.structure("picture", PAGES)
    if by_chance:
        each = np.random.default_rng(5).poisson(2000, (THREADS, PAGES))
        pattern.access(s, page[None, :], np.arange(THREADS)[:, None], each, each)
    else:
        owner = page * THREADS // PAGES
        pattern.access(s, page, owner, np.where(owner == 1, 9000, 3000), 2000)
    pattern.touch(s, page, 0)
    return pattern


def found(pattern: Pattern, *, nodes: bool = False) -> list[Finding]:
    return findings_of(run_of(pattern, nodes=nodes))


def test_what_computes_has_no_numa_problem() -> None:
    assert {one.kind for one in found(tiles(99))} == {Kind.SERIAL_FIRST_TOUCH, Kind.LOAD_IMBALANCE}
    (none,) = found(tiles(101))
    assert none.kind is Kind.NO_PROBLEM
    assert "The run computes: it uses 101 ns of CPU time for each access" in none.why
    run = run_of(tiles(10_000), nodes=True)
    (none,) = findings_of(run)
    assert none.kind is Kind.NO_PROBLEM
    assert "The run computes" in verdict(run, [none])


def test_waiting_is_no_computing() -> None:
    run = run_of(tiles(101))
    assert run.computes
    waiting = replace(run)
    vars(waiting)["waited_on"] = frozenset({0})
    assert not waiting.computes


@pytest.mark.parametrize(("access_ns", "computes"), [(61, False), (199, False), (201, True)])
def test_entries_that_are_looked_up_may_each_wait_for_memory(
    access_ns: float, computes: bool
) -> None:
    kinds = {one.kind for one in found(tiles(access_ns, by_chance=True))}
    assert kinds == {Kind.NO_PROBLEM if computes else Kind.SHARED_WRITTEN}


@pytest.mark.parametrize(("times", "told"), [(900, False), (1100, True)])
def test_lines_that_travel_often_matter_beside_computing(times: int, told: bool) -> None:
    """A hundredth of the CPU time is 1000 lines of 100 ns each."""
    pattern = Pattern("counters", 2)
    page = np.arange(10)
    s = pattern.structure("counters", 1)
    own = pattern.structure("own", 20)
    pattern.access(own, np.arange(20), np.arange(20) // 10, 2400, 0)
    pattern.touch(own, np.arange(20), np.arange(20) // 10)
    for thread in (0, 1):
        pattern.access(s, page[:1], thread, 500, 500)
    pattern.touch(s, page[:1], 0)
    pattern.seen_lines += [
        (s, 0, 0, 0, thread, 0, 1, 0xFF << 8 * thread, times // 2, 0, times // 2)
        for thread in (0, 1)
    ]
    pattern.access_ns = 1e7 / 50_000
    kinds = {one.kind for one in found(pattern)}
    assert (Kind.LINE_FALSE_SHARING in kinds) is told
    assert (Kind.NO_PROBLEM in kinds) is not told
