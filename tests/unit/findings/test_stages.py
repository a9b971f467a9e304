# SPDX-License-Identifier: Apache-2.0
"""Teams of threads live one after another, and use a structure in different ways."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from numascape.findings import Finding, Kind, examine, findings_of
from numascape.findings.finding import Remedy
from synthetic.pattern import Pattern
from unit.findings.run_cases import run_of

PAGES = 256


def ordered_and_used(later: list[float], writes: float = 0) -> Finding:
    """Four tasks take random pages twice; then two threads make `later` reads of each half.

    Of 1000 accesses, `writes` write.
    """
    pattern = Pattern("tree", 7)
    points = pattern.structure("points", PAGES)
    chosen = np.random.default_rng(3)
    for _ in range(2):
        taken = chosen.integers(1, 5, PAGES)
        for thread in range(1, 5):
            pages = np.flatnonzero(taken == thread)
            pattern.access(points, pages, thread, 2000, 2000)
    pattern.touch(points, np.arange(PAGES), 0)
    half = np.arange(PAGES) < PAGES // 2
    for thread, own in ((5, half), (6, ~half)):
        reads = np.where(own, later[0], later[1]).astype(int)
        pattern.access(points, np.arange(PAGES), thread, reads, round(writes))
    lives = [(0, 100), *[(10, 20)] * 4, *[(30, 40)] * 2]
    run = run_of(pattern)
    vars(run.trace)["threads"] = run.trace.threads.with_columns(
        created_ns=pl.Series([begin for begin, _ in lives], dtype=pl.UInt64),
        ended_ns=pl.Series([end for _, end in lives], dtype=pl.UInt64),
    )
    (found,) = (f for f in findings_of(examine(run.trace)) if f.name == "points")
    return found


@pytest.mark.parametrize(
    ("later", "remedies"),
    [
        pytest.param([1500, 10], {Remedy.INTERLEAVED, Remedy.DIVIDED}, id="each its half"),
        pytest.param([300, 300], {Remedy.INTERLEAVED, Remedy.DIVIDED}, id="hardly"),
    ],
)
def test_a_stage_in_which_all_use_all_pages_has_no_parts(
    later: list[float], remedies: set[Remedy]
) -> None:
    found = ordered_and_used(later)
    assert found.kind is Kind.CHANGING_USERS
    assert {fix.remedy for fix in found.fixes} - {Remedy.NONE} == remedies


@pytest.mark.parametrize(("writes", "copied"), [(0, True), (9, True), (12, False)])
def test_what_later_threads_only_read_may_have_copies(writes: float, copied: bool) -> None:
    found = ordered_and_used([1000, 1000], writes)
    assert found.kind is (Kind.SHARED_READ_MOSTLY if copied else Kind.CHANGING_USERS)
    remedies = {Remedy.INTERLEAVED, Remedy.COPIED} if copied else {Remedy.INTERLEAVED}
    assert {fix.remedy for fix in found.fixes} - {Remedy.NONE} == remedies
    assert not copied or "Threads that are created later read all of its pages" in found.why
