# SPDX-License-Identifier: Apache-2.0
"""Patterns of the use of pages exactly at a threshold count on the right side.

All numbers are exact in floating point, or rounded like the threshold.
"""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings.page_use import PageUse, page_use
from numascape.findings.pattern import (
    Pattern,
    accesses_in_turn,
    boundary_share,
    looked_up,
    parts_share_pages,
    pattern_of,
    randomness,
    users_change,
)
from unit.findings.pattern_cases import rows, use


@pytest.mark.parametrize(
    ("counts", "pattern"),
    [
        ([[5.0], [1.0]], Pattern.ONE_THREAD),
        ([[3, 1, 0, 0]] * 4, Pattern.SPLIT),  # 0.75 is enough
        ([[7, 4, 4, 4, 4, 3, 3, 3]] * 4, Pattern.SHARED),  # 7 / 32 is 1.75 / 8, still even
        ([list(np.roll([80, 40, 40, 40, 30, 30, 30, 30], k)) for k in range(8)], Pattern.SHARED),
        ([list(1e5 * np.roll([8, 4, 4, 4, 3, 3, 3, 3], k)) for k in range(8)], Pattern.GROUPS),
    ],
)
def test_patterns(counts: list[list[float]], pattern: Pattern) -> None:
    assert pattern_of(use(counts)) is pattern


def test_a_user_makes_a_twentieth_of_its_even_part() -> None:
    assert use([[79, 0, 0, 1]]).users.tolist() == [[True, False, False, True]]
    assert use([[80, 0, 0, 1]]).users.tolist() == [[True, False, False, False]]


def test_a_tenth_of_the_mean_takes_part_in_the_work() -> None:
    # The mean of 195, 195 and 10 is 133.3; of 145, 145 and 10 it is 100.
    assert (
        page_use(rows({(0, 0, t): (n, 0) for t, n in enumerate((145, 145, 10))})).threads.size == 3
    )
    assert (
        page_use(rows({(0, 0, t): (n, 0) for t, n in enumerate((195, 195, 10))})).threads.size == 2
    )


def test_128_accesses_between_two_users_are_a_part() -> None:
    assert not looked_up(use([[128, 0], [0, 128]]))
    assert looked_up(use([[127, 0], [0, 127]]))


def test_what_the_first_toucher_has_more_is_no_chance() -> None:
    # Thread 0 created the entries on the first half of the pages, and thread 1 the others.
    shares = use([[1, 1], [800, 200], [804, 196], [200, 800], [196, 804], [1, 1]])
    assert not looked_up(shares)
    assert looked_up(use([[3, 5], [5, 3]]), np.array([0, 0]))
    assert accesses_in_turn(shares, np.array([0, 0, 0, 1, 1, 1])) == pytest.approx(0.016)


def test_pages_with_the_ends_of_a_block_are_no_chance() -> None:
    """Two threads use all pages by a rule, except the last one, which only one thread uses."""
    assert accesses_in_turn(use([[9, 7], *[[1000, 1000]] * 20, [0, 500]])) == 0


def test_with_less_than_half_an_access_between_two_users_these_follow_a_rule() -> None:
    # The shares are 3/8 and 5/8, so the variance is 1/16 of the largest one; eight accesses.
    assert looked_up(use([[3, 5], [5, 3]]))
    assert not looked_up(use([[4, 4], [4, 4]]))


def test_threads_that_work_more_than_others_share_pages_evenly() -> None:
    # All pages have the same shares; and each of two teams has its pages.
    uneven = use([[1, 1, 1, 5]] * 4)
    assert (uneven.dominance, uneven.evenness) == (5 / 8, 1 / 4)
    assert pattern_of(uneven) is Pattern.SHARED
    teams = use([[2, 2, 0, 0], [0, 0, 2, 2]] * 2)
    assert teams.evenness == 1 / 2
    assert pattern_of(teams) is Pattern.GROUPS


def test_means_over_pages_are_weighted_by_accesses() -> None:
    found = use([[3, 1], [0, 12]])
    assert found.dominance == pytest.approx((4 * 0.75 + 12 * 1.0) / 16)
    assert found.users_per_page == pytest.approx((4 * 2 + 12 * 1) / 16)
    assert boundary_share(found) == 4 / 16
    assert found.owner.tolist() == [0, 1]


def test_pages_follow_each_other_in_one_instance_only() -> None:
    found = PageUse(np.arange(2), np.array([0, 0, 0, 1]), np.array([4, 5, 7, 8]), np.ones((4, 2)))
    assert found.together.tolist() == [True, False, False]


def parts(ends: list[tuple[int, int]], threads: int) -> PageUse:
    """Each page is used by the threads from its first to its last one."""
    return use([[float(first <= t <= last) for t in range(threads)] for first, last in ends])


@pytest.mark.parametrize(
    ("ends", "threads", "meet"),
    [
        ([(0, 1), (1, 2)], 3, True),
        ([(0, 1), (1, 1)], 2, False),  # two threads have one boundary only
        ([(0, 2)], 3, False),  # one page shows nothing
        ([(0, 1), (1, 1), (1, 1), (1, 2)], 3, True),
        ([(1, 2), (0, 1)] * 4, 3, False),
        # One end of the range goes back, and the other one does not.
        ([(0, 1), *[(2, 3), (1, 4)] * 4, (4, 5)], 6, False),
        ([(0, 3), (1, 3), (1, 4), (2, 4)], 5, False),  # more than three users
        ([(0, 2), (1, 3), (2, 4)], 5, True),  # three users are few enough for five threads
        ([(0, 2), (1, 3)], 4, False),  # but not for four
    ],
)
def test_parts_share_pages(ends: list[tuple[int, int]], threads: int, meet: bool) -> None:
    assert parts_share_pages(parts(ends, threads)) == meet


@pytest.mark.parametrize(
    ("ends", "meet"),
    [
        # Of ten steps, one goes back; then two.
        ([*[(0, 1)] * 3, (1, 2), (0, 1), *[(1, 2)] * 2, *[(2, 3)] * 2, *[(3, 4)] * 2], True),
        ([*[(0, 1)] * 2, (1, 2), (0, 1), (1, 2), (0, 1), (1, 2), *[(2, 3)] * 2, (3, 4), (3, 4)],
         False),
        # Of ten steps, three move; then two.
        ([*[(0, 1)] * 3, *[(1, 2)] * 3, *[(2, 3)] * 3, *[(3, 4)] * 2], True),
        ([*[(0, 1)] * 4, *[(1, 2)] * 4, *[(2, 3)] * 3], False),
    ],
)  # fmt: skip
def test_parts_are_in_order_and_short(ends: list[tuple[int, int]], meet: bool) -> None:
    threads = 1 + max(last for _, last in ends)
    assert parts_share_pages(parts(ends, threads)) == meet


@pytest.mark.parametrize(("with_gap", "meet"), [(1, True), (2, False)])
def test_a_tenth_of_the_accesses_may_leave_a_thread_out(with_gap: int, meet: bool) -> None:
    ends = [*[(0, 1)] * 3, *[(1, 2)] * 2, *[(2, 3)] * 2, *[(3, 4)] * 3]
    counts = parts(ends, 5).counts
    for page in (4, 6)[:with_gap]:  # between the first and the last user, one is missing
        first = int(counts[page].argmax())
        counts[page, first + 1], counts[page, first + 2] = 0, 1
    assert parts_share_pages(use(counts)) == meet


def test_a_quarter_of_the_accesses_at_boundaries_matters() -> None:
    rest = [[1, 1, 0], [0, 4, 0], [0, 1, 1], [0, 0, 2]]
    assert boundary_share(use([[6, 0, 0], *rest])) == 0.25
    assert parts_share_pages(use([[6, 0, 0], *rest]))
    assert not parts_share_pages(use([[7, 0, 0], *rest]))


def test_randomness_is_the_variance_relative_to_the_largest() -> None:
    assert randomness(use([[1, 0], [0, 1]])) == pytest.approx(1.0)
    assert randomness(use([[1, 1], [2, 2]])) == pytest.approx(0.0)
    # Shares 1/4 and 3/4 around 1/2: a sixteenth, of a quarter.
    assert randomness(use([[1, 3], [3, 1]])) == pytest.approx(0.25)
    # The second page weighs three times as much: mean 5/8, variance 3/64, largest 15/64.
    assert randomness(use([[1, 3], [9, 3]])) == pytest.approx(0.2)


def test_users_at_random_need_64_pages_to_be_seen() -> None:
    owner = np.random.default_rng(5).integers(0, 4, 64)
    counts = np.eye(4)[owner]
    assert users_change(use(counts))
    assert not users_change(use(counts[:63]))
