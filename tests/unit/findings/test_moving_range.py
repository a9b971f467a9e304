# SPDX-License-Identifier: Apache-2.0
"""In an elimination, the divided loop starts later each time, so pages change users."""

from __future__ import annotations

from numascape.findings import Kind
from numascape.findings.finding import Remedy
from numascape.findings.sources import Sources
from unit.findings.moving_cases import LOOP, THREADS, Moving, found


def test_the_range_should_be_the_same_each_time() -> None:
    (finding,) = found(THREADS, Moving(None))
    assert finding.kind is Kind.CHANGING_USERS
    assert finding.why.startswith("The range of the loop at lu.c:4 depends on `k`")
    assert "40.0 threads write each page in turn" in finding.why
    assert finding.remedy is Remedy.DIVIDED
    assert "skip the iterations that have nothing to do" in finding.advice[0]
    assert finding.place == LOOP


def test_what_a_moving_loop_only_reads_is_shared() -> None:
    assert {one.kind for one in found(0, Moving(None))} == {Kind.SHARED_READ_MOSTLY}


def test_without_a_moving_range_all_pages_are_shared() -> None:
    assert {one.kind for one in found(THREADS, Sources(None))} == {Kind.SHARED_WRITTEN}
