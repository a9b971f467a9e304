# SPDX-License-Identifier: Apache-2.0
"""Pairs of bursts show how many threads use a page, although a burst is by one thread."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings.page_use import PageUse
from numascape.findings.pattern import Pattern as Use
from numascape.findings.sameness import Sameness, ratio_error
from numascape.findings.sampled_use import (
    SampledUse,
    accesses_in_turn,
    own_share_error,
    sampled_use,
)
from numascape.trace.format import BURST_GROUPS

PAGES, THREADS = 256, 4


def use_of(bursts: list[tuple[int, int, int, int]]) -> PageUse:
    """The use of pages by bursts: thread, group, and the first and last page of each."""
    by_group = np.zeros((PAGES, THREADS, BURST_GROUPS))
    for thread, group, first, end in bursts:
        by_group[first:end, thread, group] += 100
    used = np.flatnonzero(by_group.sum(axis=(1, 2)))
    kept = by_group[used]
    number = np.arange(THREADS)
    return PageUse(number, np.zeros_like(used), used, kept.sum(axis=2), by_group=kept)


def random_bursts(
    rng: np.random.Generator, each: int, part: int
) -> list[tuple[int, int, int, int]]:
    """Bursts over 16 pages, `each` of every thread; in its part, or anywhere if it is 0."""
    found = []
    for thread in range(THREADS):
        for number in range(each):
            low, high = (thread * part, (thread + 1) * part - 16) if part else (0, PAGES - 16)
            first = int(rng.integers(low, high))
            found.append((thread, number % BURST_GROUPS, first, first + 16))
    return found


def test_each_burst_alone_looks_like_one_user() -> None:
    """Samples would show one user of each page; pairs of different bursts show four."""
    bursts = random_bursts(np.random.default_rng(1), 64, 0)
    use = use_of(bursts)
    same = Sameness.of(use)
    assert same.share == pytest.approx(1 / THREADS, abs=0.1)
    assert same.is_known
    assert sampled_use(use, 0.25, 0.1).pattern is Use.SHARED


def test_parts_have_one_user() -> None:
    use = use_of(random_bursts(np.random.default_rng(2), 64, PAGES // THREADS))
    assert Sameness.of(use).share == 1.0
    assert sampled_use(use, 0.25, 0.1).pattern is Use.SPLIT


def test_the_error_holds_in_95_percent() -> None:
    rng = np.random.default_rng(3)
    within = 0
    for _ in range(200):
        same = Sameness.of(use_of(random_bursts(rng, 24, 0)))
        within += same.low <= 1 / THREADS <= same.high
    assert within >= 0.95 * 200


def test_two_bursts_show_nothing() -> None:
    use = use_of([(0, 0, 0, 100), (1, 0, 100, 200)])
    assert not Sameness.of(use).is_known
    assert sampled_use(use, 0.5, 1.0).pattern is Use.UNKNOWN
    same_group = use_of([(0, 0, 0, 100), (1, 0, 0, 100)])
    assert Sameness.of(same_group) == Sameness()


def test_the_share_of_first_touchers_has_an_error() -> None:
    rng = np.random.default_rng(4)
    use = use_of(random_bursts(rng, 64, 0))
    touchers = (use.page * THREADS // PAGES).astype(np.int64)
    error = own_share_error(use, touchers)
    own = (use.counts * (use.threads[None, :] == touchers[:, None])).sum() / use.counts.sum()
    assert 0 < error < 0.3
    assert abs(own - 1 / THREADS) <= 2 * error
    assert own_share_error(use, None) == 1.0


@pytest.mark.parametrize(
    ("parts", "wholes", "error"),
    [
        ([1.0] * 8, [2.0] * 8, 0.0),
        ([4.0] + [0.0] * 7, [4.0] + [0.0] * 7, 1.0),
    ],
)
def test_a_ratio_from_one_group_is_not_known(
    parts: list[float], wholes: list[float], error: float
) -> None:
    assert ratio_error(np.array(parts), np.array(wholes)) == pytest.approx(error)


def visits(rng: np.random.Generator, each: int, accesses: int) -> PageUse:
    """The use of pages by threads that come to random pages `each` times, for so many accesses."""
    by_group = np.zeros((PAGES, THREADS, BURST_GROUPS))
    for thread in range(THREADS):
        for group in range(BURST_GROUPS):
            by_group[:, thread, group] = accesses * np.bincount(
                rng.integers(0, PAGES, each), minlength=PAGES
            )
    number = np.arange(PAGES)
    return PageUse(
        np.arange(THREADS), np.zeros_like(number), number, by_group.sum(axis=2), by_group=by_group
    )


@pytest.mark.parametrize("accesses", [2, 300])
@pytest.mark.parametrize("each", [100, 20_000])
def test_visits_have_a_size_however_many_there_are(accesses: int, each: int) -> None:
    use = visits(np.random.default_rng(5), each, accesses)
    assert accesses_in_turn(use, 1.0) == pytest.approx(accesses, rel=0.1)
    # Estimates are multiples of what was counted.
    assert use.by_group is not None
    estimated = PageUse(
        use.threads, use.instance, use.page, use.counts * 50, by_group=use.by_group * 50
    )
    assert accesses_in_turn(estimated, 50.0) == pytest.approx(accesses, rel=0.1)


def test_parts_are_not_looked_up() -> None:
    use = use_of(random_bursts(np.random.default_rng(6), 64, PAGES // THREADS))
    assert not SampledUse(use, 1, Use.SPLIT, in_turn=2.0).looks_up
    assert SampledUse(use, 1, Use.SHARED, in_turn=2.0).looks_up
    assert not SampledUse(use, 1, Use.SHARED, in_turn=500.0).looks_up
