# SPDX-License-Identifier: Apache-2.0
"""Findings from samples: right, or said to be unknown, however few samples a page has."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from numascape.findings import Finding, Kind, examine, findings_of
from numascape.findings.page_use import Floats, PageUse, page_use
from numascape.findings.pattern import Pattern as Use
from numascape.findings.reading import reading_of
from numascape.findings.sameness import Sameness
from numascape.findings.sample_sizes import (
    MIN_COMPARISONS,
    MIN_LINE_SAMPLES,
    MIN_SAMPLES_OF_STRUCTURE,
)
from numascape.findings.sampled_use import sampled_use
from numascape.findings.subject import Run
from numascape.findings.verdict import verdict
from numascape.trace.counting import FEWEST_SAMPLES
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern

PAGES, THREADS = 512, 4
PAGE, THREAD = np.arange(PAGES)[:, None], np.arange(THREADS)[None, :]
# The share of each thread in each page, and the finding: thread 4 touches all pages first.
USES: dict[str, tuple[Any, Kind]] = {
    "parts": (PAGE * THREADS // PAGES == THREAD, Kind.SERIAL_FIRST_TOUCH),
    "pages in turn": (PAGE % THREADS == THREAD, Kind.SERIAL_FIRST_TOUCH),
    "all pages": (np.ones((PAGES, THREADS)), Kind.SHARED_READ_MOSTLY),
    "two threads each": (PAGE * 2 // PAGES == THREAD // 2, Kind.SHARED_BY_GROUPS),
    "two threads by chance": (
        np.random.default_rng(5).permuted(np.tile([1, 1, 0, 0], (PAGES, 1)), axis=1),
        Kind.CHANGING_USERS,
    ),
    "two threads in turn": (PAGE % 2 == THREAD // 2, Kind.PAGE_FALSE_SHARING),
}


def sampled(use: Any, samples: int, seed: int = 0, toucher: Any = THREADS) -> Pattern:
    """A trace of so many samples of a structure that threads use like this."""
    rng = np.random.default_rng(seed)
    shares = np.asarray(use, float)
    counts = rng.multinomial(samples, shares.ravel() / shares.sum()).reshape(shares.shape)
    pattern = Pattern("sampled", shares.shape[1] + 1)
    structure = pattern.structure("A", shares.shape[0])
    page, thread = np.nonzero(counts)
    pattern.access(structure, page, thread, counts[page, thread], 0)
    pattern.touch(structure, np.arange(shares.shape[0]), toucher, "main", 3)
    whole = pattern.info()
    whole["recorder"].update(name="samples", counts="samples")
    whole["machine"]["nodes"] = whole["machine"]["nodes"][:1]
    whole["times"]["cpu_s"] = samples / 1000
    pattern.info = lambda: whole  # type: ignore[method-assign]
    return pattern


def run_of(pattern: Pattern) -> Run:
    return examine(trace_of(pattern))


def found(pattern: Pattern) -> list[Finding]:
    return findings_of(run_of(pattern))


def kinds(pattern: Pattern) -> set[Kind]:
    return {finding.kind for finding in found(pattern) if finding.name == "A"}


@pytest.mark.parametrize("name", USES)
def test_the_finding_is_that_of_exact_counts(name: str) -> None:
    use, right = USES[name]
    exact = sampled(np.asarray(use, float), 0)
    page, thread = np.nonzero(use)
    exact.access(0, page, thread, 1 << 20, 0)
    exact.info()["recorder"]["counts"] = "accesses"
    assert kinds(exact) == {right}


@pytest.mark.parametrize("samples", [60, 150, 400, 1000, 4000])
@pytest.mark.parametrize("name", USES)
def test_what_samples_assert_is_right_in_95_percent(name: str, samples: int) -> None:
    use, right = USES[name]
    rounds = 20
    said = Counter(kind for seed in range(rounds) for kind in kinds(sampled(use, samples, seed)))
    unknown = said.pop(Kind.TOO_FEW_SAMPLES, 0)
    assert said[right] + unknown >= 0.95 * rounds, said
    assert said.total() - said[right] <= 0.05 * rounds, said


@pytest.mark.parametrize(("name", "enough"), [("parts", 400), ("all pages", 1000)])
def test_enough_samples_tell(name: str, enough: int) -> None:
    use, right = USES[name]
    assert all(kinds(sampled(use, enough, seed)) == {right} for seed in range(10))


def test_pages_with_one_sample_each_show_no_users() -> None:
    """A page with one sample has one user in the trace, whoever else uses it."""
    pattern = sampled(np.ones((1 << 16, THREADS)), 200)
    assert int(pattern.accesses[0]["reads"].to_numpy().max()) <= 2
    assert kinds(pattern) == {Kind.TOO_FEW_SAMPLES}


def of_samples(counts: Floats) -> Sameness:
    """The sameness of samples of blocks by threads."""
    blocks, threads = counts.shape
    number = np.arange(blocks)
    return Sameness.of(PageUse(np.arange(threads), np.zeros_like(number), number, counts))


@pytest.mark.parametrize("each", [1, 2, 5])
def test_sameness_has_no_bias(each: int) -> None:
    rng = np.random.default_rng(1)
    shares = [0.7, 0.2, 0.1]
    counts = rng.multinomial(each + 1, shares, 4000).astype(float)
    same = of_samples(counts)
    assert same.share == pytest.approx(0.49 + 0.04 + 0.01, abs=0.02)
    assert same.comparisons == 4000 * each


def test_the_error_of_sameness_holds_in_95_percent() -> None:
    rng = np.random.default_rng(2)
    within = 0
    for _ in range(400):
        same = of_samples(rng.multinomial(2, [0.25] * 4, 100).astype(float))
        within += same.low <= 0.25 <= same.high
    assert within >= 0.95 * 400


def test_single_samples_cannot_be_compared() -> None:
    assert of_samples(np.eye(4)) == Sameness(1.0, 1.0, 0)


def judged(counts: Floats, own: float = 0.0) -> Use:
    pattern = Pattern("counted", counts.shape[1])
    structure = pattern.structure("A", counts.shape[0])
    page, thread = np.nonzero(counts)
    pattern.access(structure, page, thread, counts[page, thread].astype(int), 0)
    pattern.touch(structure, np.arange(counts.shape[0]), 0)
    return sampled_use(page_use(trace_of(pattern).accesses), own).pattern


def test_a_structure_needs_samples_for_its_only_thread() -> None:
    counts = np.zeros((8, 1))
    counts[0] = MIN_SAMPLES_OF_STRUCTURE - 1
    assert judged(counts) is Use.UNKNOWN
    counts[1] = 1
    assert judged(counts) is Use.ONE_THREAD


def test_samples_must_be_compared_often_enough() -> None:
    """Each page has one user and two samples; the last pages have one sample."""
    counts = np.zeros((MIN_COMPARISONS, 2))
    counts[: len(counts) // 2, 0] = counts[len(counts) // 2 :, 1] = 2
    assert judged(counts) is Use.SPLIT
    assert judged(counts[1:-1]) is Use.SPLIT  # in blocks of two pages
    assert judged(counts[:, :1]) is Use.ONE_THREAD


def test_first_touches_show_parts_without_comparisons() -> None:
    """If a page's first toucher makes its accesses, it is the main user of the page."""
    counts = np.zeros((1 << 12, 4))
    counts[np.arange(40) * 100, np.arange(40) % 4] = 1
    assert judged(counts) is Use.UNKNOWN
    assert judged(counts, own=1.0) is Use.SPLIT
    assert judged(counts, own=0.8) is Use.UNKNOWN  # its error is 0.15


@pytest.mark.parametrize("samples", [0, 1, FEWEST_SAMPLES - 1])
def test_a_run_with_few_samples_has_an_unknown_problem(samples: int) -> None:
    run = run_of(sampled(np.ones((PAGES, THREADS)), samples))
    (finding,) = findings_of(run)
    assert finding.kind is Kind.TOO_FEW_SAMPLES
    assert not finding.to_do
    said = verdict(run, [finding])
    assert "cannot be told" in said
    assert "No NUMA problem" not in said
    assert any("--frequency" in advice for advice in finding.advice)


@pytest.mark.parametrize(
    ("options", "advised"),
    [
        ({}, True),
        ({"frequency": 1000}, True),
        ({"frequency": 10_000}, False),
        ({"event": "page-faults"}, False),
    ],
)
def test_more_samples_are_advised_if_the_recorder_can_take_more(
    options: dict[str, Any], advised: bool
) -> None:
    pattern = sampled(np.ones((PAGES, THREADS)), 10)
    pattern.info()["recorder"]["options"] = options
    (finding,) = findings_of(run_of(pattern))
    assert any("--frequency" in advice for advice in finding.advice) is advised


def test_structures_with_unknown_users_leave_the_run_open() -> None:
    run = run_of(sampled(np.ones((PAGES, THREADS)), 120))
    said = findings_of(run)
    assert [one.kind for one in said] == [Kind.TOO_FEW_SAMPLES] * 2
    assert "how threads share the pages of A" in verdict(run, said)


def test_samples_of_one_thread_are_not_the_accesses_of_a_single_thread() -> None:
    only = np.zeros((PAGES, THREADS))
    only[:, 0] = 1
    (none,) = (f for f in found(sampled(only, 500, toucher=0)) if f.kind is Kind.NO_PROBLEM)
    assert "All 500 samples of accesses are by one thread" in none.why


def test_a_finding_has_the_error_of_its_shares() -> None:
    (finding,) = (f for f in found(sampled(USES["parts"][0], 1000)) if f.name == "A")
    error = finding.evidence[-1]
    assert "from samples" in error.what
    assert 0 < error.value <= 0.1
    assert finding.confidence <= 0.95


def test_shared_pages_may_have_parts_of_threads() -> None:
    """The samples have cache lines, but hardly two of them in the same line by chance."""
    pattern = sampled(np.ones((PAGES, THREADS)), 2000)
    pattern.see(0, 0, 0, 1)
    pattern.see(0, 0, 1, 2)
    (finding,) = (one for one in found(pattern) if one.name == "A")
    assert finding.kind is Kind.TOO_FEW_SAMPLES
    assert "parts, shorter than a page" in finding.why


def test_lines_need_samples_of_their_threads() -> None:
    def lines(times: int) -> set[Kind]:
        pattern = sampled(np.ones((1, 2)), 1000, toucher=0)
        for thread in (0, 1):
            pattern.see(
                0, 0, thread, 1, line=0, bytes_=0xFF << 8 * thread, times=times, writing=times
            )
        return kinds(pattern)

    assert Kind.LINE_FALSE_SHARING not in lines(MIN_LINE_SAMPLES - 1)
    assert Kind.LINE_FALSE_SHARING in lines(MIN_LINE_SAMPLES)


def test_the_page_does_not_say_who_uses_a_structure_from_one_sample() -> None:
    run = run_of(sampled(np.ones((PAGES, THREADS)), 1))
    seen = " ".join(reading_of(run, 0, []).see)
    assert "too few to say which threads use it" in seen
    assert "Only thread" not in seen
