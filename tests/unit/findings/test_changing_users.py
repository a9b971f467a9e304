# SPDX-License-Identifier: Apache-2.0
"""One phase divides the pages; in another one, threads walk across all of them."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings import Kind, findings_of
from numascape.findings.diagnoses import hot_pages
from numascape.findings.finding import Finding, Remedy
from numascape.findings.run_facts import RunFacts
from synthetic.pattern import Pattern
from unit.findings.run_cases import region, run_of, subject_of


def transposed(across: float, *, written: bool = True) -> list[Finding]:
    """Four threads sweep along the pages, and then across them, with `across` of the accesses."""
    pattern = Pattern("sweeps", 4)
    page = np.arange(600)
    s = pattern.structure("u", 600)
    along = region(pattern, "along", 3)
    made = round(40_000 * (1 - across))
    pattern.access(s, page, page // 150, made, made if written else 0, phase=along)
    walk = region(pattern, "across", 9)
    each = round(20_000 * across)
    pattern.access(s, page[None, :], np.arange(4)[:, None], each, 0, phase=walk)
    pattern.touch(s, page, page // 150, phase=0)
    return [one for one in findings_of(run_of(pattern)) if one.structure == s]


def test_a_transposed_sweep_is_found_although_most_accesses_are_of_the_other_one() -> None:
    (found,) = transposed(0.2)
    assert found.kind is Kind.CHANGING_USERS
    assert "In phase along, a page has one user. But in phase across, several threads" in found.why
    assert "75 % of the use is by others" in found.why
    assert found.advice[0].startswith(
        "Let each thread use the same contiguous part in phase across"
    )
    assert found.remedy is Remedy.DIVIDED


@pytest.mark.parametrize("across", [0.05, 0.8])
def test_what_is_hardly_or_mostly_shared_has_other_findings(across: float) -> None:
    assert Kind.CHANGING_USERS not in {one.kind for one in transposed(across)}


def test_pages_that_change_users_are_not_hot_as_well() -> None:
    """The fix of hot pages, parts with equal numbers of accesses, is for threads that keep them."""
    pattern = Pattern("hot", 4)
    page = np.arange(1600)
    s = pattern.structure("u", 1600)
    made = np.where(page < 320, 40_000, 2_000)
    for line, shift in enumerate((0, 1), 3):
        phase = region(pattern, f"phase {shift}", line)
        pattern.access(s, page, (page // 400 + shift) % 4, made, made, phase=phase)
    pattern.touch(s, page, page // 400, phase=0)
    assert hot_pages.diagnose(subject_of(run_of(pattern))) is not None
    assert [one.kind for one in findings_of(run_of(pattern)) if one.structure == s] == [
        Kind.CHANGING_USERS
    ]


@pytest.mark.parametrize("dynamic", [False, True])
def test_phases_divide_alike_only_if_no_free_thread_takes_iterations(
    dynamic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = Pattern("join", 4)
    page = np.arange(1600)
    s = pattern.structure("parts", 1600)
    for line, shift in enumerate((0, 1), 3):
        phase = region(pattern, f"phase {shift}", line)
        pattern.access(s, page, (page // 400 + shift) % 4, 2_000, 2_000, phase=phase)
    pattern.touch(s, page, page // 400, phase=0)
    monkeypatch.setattr(RunFacts, "has_dynamic_loop", lambda _, phase: dynamic and phase == 2)
    (found,) = (one for one in findings_of(run_of(pattern)) if one.structure == s)
    assert found.kind is Kind.CHANGING_USERS
    remedies = [fix.remedy for fix in found.fixes if fix.remedy is not Remedy.NONE]
    expected = [Remedy.INTERLEAVED, Remedy.DIVIDED]
    assert remedies == (expected if dynamic else expected[::-1])
