# SPDX-License-Identifier: Apache-2.0
"""A run whose CPU time is much longer than that of its accesses gets no other advice."""

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
    """Thread 0 fills a picture; one thread makes twice the mean number of writes to its part."""
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
    """A hundredth of the CPU time is the time of 1000 lines with 100 ns each."""
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


def executing(each: int, busiest: float, *, access_ns: float = 1) -> Pattern:
    """Tiles, with so many instructions an access.

    Thread 2 executes `busiest` times the mean of the three threads that only work.
    """
    pattern = tiles(access_ns)
    counts = (rows[name].sum() for rows in pattern.accesses for name in ("reads", "writes"))
    accesses = sum(int(count) for count in counts)
    mean = each * accesses // THREADS
    of_threads = {0: 1.0, 2: busiest} | dict.fromkeys((1, 3), (3 - busiest) / 2)
    pattern.instructions = [(one, 0, round(mean * of_threads[one])) for one in range(THREADS)]
    return pattern


@pytest.mark.parametrize("access_ns", [1, 1000])
def test_instructions_tell_whether_a_run_computes_whatever_its_time_is(access_ns: float) -> None:
    kinds = {one.kind for one in found(executing(79, 1.0, access_ns=access_ns))}
    assert kinds == {Kind.SERIAL_FIRST_TOUCH}  # thread 1 makes more accesses in the same time
    (none,) = found(executing(81, 1.0, access_ns=access_ns))
    assert none.kind is Kind.NO_PROBLEM
    assert "it executes 81 instructions for each access" in none.why


@pytest.mark.parametrize(("busiest", "uneven"), [(1.38, False), (1.42, True)])
def test_the_work_of_a_run_that_computes_is_its_instructions(busiest: float, uneven: bool) -> None:
    (one,) = found(executing(100, busiest))
    assert one.kind is (Kind.LOAD_IMBALANCE if uneven else Kind.NO_PROBLEM)
    assert not uneven or "Thread 2 executes 1.4 times as many instructions" in one.why
    assert "The run computes: it executes 100 instructions for each access" in one.why


@pytest.mark.parametrize(("times", "uneven"), [(1.38, False), (1.42, True)])
def test_more_accesses_are_more_work_only_with_more_instructions(
    times: float, uneven: bool
) -> None:
    pattern = executing(10, times)
    swapped = {0: 0, 1: 2, 2: 1, 3: 3}
    pattern.instructions = [(swapped[one], 0, count) for one, _, count in pattern.instructions]
    kinds = {one.kind for one in found(pattern)}  # thread 1 has more of both
    assert (Kind.LOAD_IMBALANCE in kinds) is uneven
