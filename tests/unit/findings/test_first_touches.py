# SPDX-License-Identifier: Apache-2.0
"""Findings from first touches alone, and the findings that these cannot show."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings import Finding, Kind, examine, findings_of, not_judged
from numascape.findings.groups import group_findings, stake_of
from numascape.report import from_trace
from numascape.trace import Trace
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern
from synthetic.patterns import seismic
from synthetic.write import touches_alone

THREADS = 64
PAGES = 640
PAGE = np.arange(PAGES)
OWNER = PAGE * THREADS // PAGES


@pytest.fixture
def pattern() -> Pattern:
    """64 threads on four nodes; pages are on node 0, unless first touch places them."""
    return Pattern("touches", THREADS)


def recorded(pattern: Pattern) -> Trace:
    return trace_of(touches_alone(pattern))


def found_in(pattern: Pattern) -> list[Finding]:
    return findings_of(examine(recorded(pattern)))


def touched(pattern: Pattern, name: str, thread: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    s = pattern.structure(name, PAGES)
    pattern.access(s, PAGE, thread, 0, 1)
    pattern.touch(s, PAGE, thread)
    return s


def test_one_toucher_is_named_and_its_users_are_unknown() -> None:
    run = examine(recorded(seismic(1920, 16)))
    found = findings_of(run)
    assert {finding.kind for finding in found} == {Kind.ONE_FIRST_TOUCHER}
    assert {"grid->vx", "grid->vy"} <= {finding.name for finding in found}
    assert all(
        "does not show which threads used these pages later" in finding.why for finding in found
    )
    assert all(f" of its pages first (in {finding.place}). The" in finding.why for finding in found)
    assert all(finding.gain is None for finding in found)
    assert max(finding.confidence for finding in found) <= 0.5
    number, what = stake_of(group_findings(run, found)[0])
    assert what.startswith("of touched pages")
    assert number == "> 99 %"


def test_an_unknown_place_of_the_touches_is_not_mentioned(pattern: Pattern) -> None:
    s = pattern.structure("A", PAGES)
    pattern.access(s, PAGE, 1, 0, 1)
    pattern.touch(s, PAGE, 1, function="", line=0)
    (found,) = found_in(pattern)
    assert (found.kind, found.place) == (Kind.ONE_FIRST_TOUCHER, None)
    assert found.why.startswith("Thread 1 touched 100 % of its pages first. The trace does not")


def test_what_needs_users_is_not_judged() -> None:
    trace = recorded(seismic(1920, 16))
    open_ = set(not_judged(trace))
    assert {Kind.SERIAL_FIRST_TOUCH, Kind.PARTITIONED, Kind.NO_PROBLEM} <= open_
    assert not open_ & {finding.kind for finding in findings_of(examine(trace))}
    counted = trace_of(seismic(1920, 16))
    assert not_judged(counted) == ()


def test_a_parallel_initialisation_is_no_finding(pattern: Pattern) -> None:
    pattern.placed_by_first_touch = True
    touched(pattern, "shared", OWNER)
    assert found_in(pattern) == []


def test_what_each_thread_touches_for_itself_is_no_finding(pattern: Pattern) -> None:
    pattern.placed_by_first_touch = True
    for thread in range(THREADS):
        touched(pattern, f"own {thread}", np.full(PAGES, thread))
    assert found_in(pattern) == []


def test_pages_away_from_their_toucher_are_a_finding(pattern: Pattern) -> None:
    touched(pattern, "shared", OWNER)
    (finding,) = found_in(pattern)
    assert finding.kind is Kind.DISPLACED_PAGES
    assert finding.evidence[0].value == 0.75
    assert finding.gain is None
    assert finding.nearer == 0.75 * PAGES


def test_the_page_shows_what_was_found() -> None:
    report = from_trace(recorded(seismic(1920, 16)))
    assert {card.kind for card in report.findings} == {Kind.ONE_FIRST_TOUCHER.value}
    assert report.findings[0].label.startswith("of touched pages")
    assert report.memory_lines is None
