# SPDX-License-Identifier: Apache-2.0
"""A number that is exactly at a threshold: the side on which it falls.

Only numbers that floating point has exactly, or whose rounding is the threshold's own.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from numascape.findings.diagnoses import hot_pages, shared_written
from numascape.findings.diagnoses.changing_users import Change, filled_in, users_by_phase
from numascape.findings.find import of_structure
from numascape.findings.page_use import PageUse, page_use
from numascape.findings.pattern import (
    Pattern,
    boundary_share,
    looked_up,
    parts_share_pages,
    pattern_of,
    randomness,
    users_change,
)
from numascape.findings.subject import Subject
from numascape.findings.thresholds import sureness
from numascape.naming.runtime_objects import RUNTIME_NAMES
from synthetic import patterns
from unit.findings.pattern_cases import use
from unit.findings.run_cases import run_of, subject_of


def rows(counts: dict[tuple[int, int, int], tuple[int, int]]) -> pl.DataFrame:
    """Accesses to one structure: by phase, page and thread, the reads and writes."""
    return pl.DataFrame(
        [(0, 0, page, thread, phase, *made) for (phase, page, thread), made in counts.items()],
        schema=["structure", "instance", "page", "thread", "phase", "reads", "writes"],
        orient="row",
    )


@pytest.mark.parametrize(
    ("counts", "pattern"),
    [
        ([[5.0], [1.0]], Pattern.ONE_THREAD),
        ([[3, 1, 0, 0]] * 4, Pattern.SPLIT),  # 0.75 is enough
        ([[7, 4, 4, 4, 4, 3, 3, 3]] * 4, Pattern.SHARED),  # 7 / 32 is 1.75 / 8, still even
        ([list(np.roll([8, 4, 4, 4, 3, 3, 3, 3], k)) for k in range(8)], Pattern.GROUPS),
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
        ([(0, 2)], 3, False),  # of one page nothing is known
        ([(0, 1), (1, 1), (1, 1), (1, 2)], 3, True),
        ([(1, 2), (0, 1)] * 4, 3, False),
        # One end goes back, and the other one does not.
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


def written(reads: int, writes: int, by_toucher: int, touched_bytes: int) -> float:
    """Thread 0 touched the pages and writes `by_toucher`; thread 1 makes the rest."""
    table = rows({(0, 0, 0): (0, by_toucher), (0, 0, 1): (reads, writes)})
    subject: Any = SimpleNamespace(
        rows=table, whole=SimpleNamespace(first_toucher=0), touched_bytes=touched_bytes
    )
    return shared_written.written_share(subject)


def test_one_write_per_element_by_the_first_toucher_is_no_work() -> None:
    # Elements have at least four bytes: 1024 writes fill a page.
    assert written(90, 10, 1024, 4096) == pytest.approx(0.1)
    assert written(90, 10, 1025, 4096) == pytest.approx(1035 / 1125)
    assert written(0, 0, 1024, 4096) == 0.0


def spread(by_node: dict[int, float], thread_nodes: int = 1, observed: bool = True) -> bool:
    """The work of threads on so many nodes, on the memory of each node."""
    table = pl.DataFrame(
        [
            (at, node, share / thread_nodes)
            for node, share in by_node.items()
            for at in range(thread_nodes)
        ],
        schema=["thread_node", "node", "accesses"],
        orient="row",
    )
    subject: Any = SimpleNamespace(
        traffic=table, run=SimpleNamespace(nodes=SimpleNamespace(observed=observed))
    )
    return shared_written.already_spread(subject)


def test_pages_are_spread_when_no_node_has_more_than_its_part() -> None:
    assert spread({0: 100.0, 1: 100.0}, 2)
    assert spread({0: 130.0, 1: 70.0}, 2)  # 1.3 times the mean
    assert not spread({0: 132.0, 1: 68.0}, 2)
    assert not spread({0: 100.0, 1: 100.0}, 2, observed=False)


def test_spread_pages_are_on_all_nodes_with_threads_and_on_two_at_least() -> None:
    assert not spread({0: 100.0, 1: 100.0}, 3)
    assert not spread({0: 100.0}, 1)
    assert spread({0: 100.0, 1: 100.0}, 1)


def heavy(counts: list[int]) -> Any:
    return use([[count / 2, count / 2] for count in counts])


def test_parts_of_equal_length_and_of_equal_accesses() -> None:
    found = heavy([6, 2, 2, 2])
    assert hot_pages.heaviest_part(found, 4, 2) == pytest.approx(8 / 6)
    assert hot_pages.even_parts(found, 4, 2) == pytest.approx((0.0, 0.25, 1.0))
    # Of four parts with three accesses each, two are in the first page.
    assert hot_pages.even_parts(found, 4, 4) == pytest.approx((0.0, 0.125, 0.25, 0.625, 1.0))
    # Pages without accesses have no boundary, and one access is enough.
    single = PageUse(np.arange(1), np.zeros(2, int), np.array([0, 3]), np.ones((2, 1)))
    assert hot_pages.even_parts(single, 4, 2) == pytest.approx((0.0, 0.25, 1.0))
    assert hot_pages.half_of_accesses(found) == 1
    assert hot_pages.half_of_accesses(heavy([2, 2, 2, 2])) == 2
    assert hot_pages.half_of_accesses(heavy([1, 2, 3, 2, 1])) == 2


def hot(pages: int, first: int = 3, instances: int = 1, pattern: Pattern = Pattern.SHARED) -> Any:
    """Two threads use all pages, the first half of them `first` times as much."""
    counts = [first if page < pages / 2 else 1 for page in range(pages)]
    return SimpleNamespace(
        pattern=pattern,
        use=heavy(counts),
        threads=(0, 1),
        row={"instances": instances, "pages": pages, "size": pages << 12, "kind": "global"},
        structure=0,
        name="A",
        used_at=None,
        whole=SimpleNamespace(place=("", "", 0)),
        foreign=300,
    )


def test_hot_pages_are_more_than_a_cache_holds() -> None:
    # Half of the accesses go to two thirds of the first half: 32 pages, which are 128 KiB, and 33.
    assert hot_pages.diagnose(hot(96)) is None
    found = hot_pages.diagnose(hot(98))
    assert found is not None
    assert found.even_parts == pytest.approx((0.0, 1 / 3, 1.0))
    assert found.nearer == 100  # of 300, what is above the mean: 1 - 1 / 1.5
    assert found.confidence == 0.5
    assert hot_pages.diagnose(hot(98, instances=2)) is None
    assert hot_pages.diagnose(hot(98, pattern=Pattern.SPLIT)) is None


def test_hot_pages_are_said_with_the_ends_of_the_first_parts() -> None:
    two = hot_pages.diagnose(hot(98))
    assert two is not None
    assert "Half of the accesses go to 34 % of its pages. If it is split into 2 parts" in two.why
    assert "the busiest part has 1.5 times the mean number of accesses" in two.why
    assert "They end at 0, 0.333, 1 of its length" in two.fixes[0].text
    assert [evidence.value for evidence in two.evidence] == pytest.approx([33 / 98, 1.5])
    many = hot(120)
    many.threads = (0, 1, 2)
    three = hot_pages.diagnose(many)
    assert three is not None
    assert len(three.even_parts) == 4
    assert "They end at 0, 0.222, 0.444, ... of its length" in three.fixes[0].text
    # Fewer than four pages for each thread cannot show it.
    many.threads = tuple(range(31))
    assert hot_pages.diagnose(many) is None
    many.threads = tuple(range(30))
    assert hot_pages.diagnose(many) is not None


Counts = dict[tuple[int, int, int], tuple[int, int]]

# In phase 0, pages 0 and 1 have the users 0 and 1; in phase 1 it is the other way round.
SWAPPED: Counts = {(0, 0, 0): (54, 0), (0, 1, 1): (54, 0), (1, 0, 1): (0, 36), (1, 1, 0): (36, 0)}


def by_phase(counts: Counts, filled_in: int | None = None) -> Change:
    return users_by_phase(rows(counts), filled_in)


def test_a_page_s_user_changes_with_the_phase() -> None:
    assert by_phase(SWAPPED) == Change(1.0, 0, 1)
    assert by_phase({key: made for key, made in SWAPPED.items() if key[0] == 0}) == Change()
    assert by_phase(SWAPPED, filled_in=0) == Change()
    # Page 0 keeps its user; it has 54 / 108 of the use in phase 0 and 6 / 42 in phase 2.
    partly: Counts = {**SWAPPED, (2, 0, 0): (6, 0), (2, 1, 2): (0, 36)}
    del partly[1, 0, 1], partly[1, 1, 0]
    assert by_phase(partly) == Change(1 / 2, 0, 2)


def test_a_tenth_of_the_work_is_enough_for_a_phase_to_count() -> None:
    # 12 of 120 accesses, then 12 of 121.
    tenth: Counts = {(0, 0, 0): (54, 0), (0, 1, 1): (54, 0), (1, 0, 1): (0, 6), (1, 1, 0): (6, 0)}
    assert by_phase(tenth) == Change(1.0, 0, 1)
    assert by_phase({**tenth, (0, 0, 0): (55, 0)}) == Change()


def test_a_stencil_counts_as_much_as_a_copy() -> None:
    # In one of two phases each element is read five times, but once from memory.
    stencil: Counts = {(0, 0, 0): (500, 0), (0, 1, 1): (500, 0), (1, 0, 1): (0, 120)}
    assert by_phase({**stencil, (1, 1, 0): (0, 120)}) == Change(1.0, 0, 1)


def test_phases_in_which_pages_are_shared_decide_if_they_have_most_accesses() -> None:
    # Half of the accesses are in phases with one user per page; then less.
    shared: Counts = {(2, page, thread): (45, 0) for page in (0, 1) for thread in (0, 1)}
    assert by_phase({**SWAPPED, **shared}) == Change(1.0, 0, 1)
    assert by_phase({**SWAPPED, **shared, (2, 0, 0): (46, 0)}) == Change()


@pytest.mark.parametrize(
    ("repetitions", "reads", "fills"), [(1, 500, True), (2, 0, False), (1, 501, False)]
)
def test_what_runs_once_touches_pages_first_and_mainly_writes_fills_a_structure(
    repetitions: int, reads: int, fills: bool
) -> None:
    pattern = patterns.Pattern("filled", 2)
    pattern.phase("outside")
    fill = pattern.phase("fill", line=3, repetitions=repetitions)
    work = pattern.phase("work", line=9, repetitions=2)
    page = np.arange(64)
    s = pattern.structure("A", 64)
    pattern.access(s, page, page % 2, reads, 500, phase=fill)
    pattern.access(s, page, page // 32, 500, 500, phase=work)
    pattern.touch(s, page, page % 2, phase=fill)
    assert (filled_in(subject_of(run_of(pattern))) == fill) is fills


def far(own_share: float, remote: float | None = None, toucher: int | None = 0) -> bool:
    subject: Any = SimpleNamespace(
        whole=SimpleNamespace(first_toucher=toucher), own_share=own_share, remote=remote
    )
    return Subject.far_from(subject, 0.5)


def test_what_is_far_is_used_by_others_and_on_other_nodes() -> None:
    assert (far(0.5), far(0.51)) == (True, False)
    assert (far(0.0, 0.1), far(0.0, 0.09)) == (True, False)
    assert not far(0.0, toucher=None)


def test_sureness_is_a_half_at_the_threshold_and_one_where_it_is_certain() -> None:
    assert [sureness(value, 2.0, 4.0) for value in (1.0, 2.0, 3.0, 4.0, 9.0)] == [
        *(0.5, 0.5, 0.75, 1.0, 1.0)
    ]


@pytest.mark.parametrize(
    ("name", "is_the_users"),
    [("A", True), (min(RUNTIME_NAMES), False), ("variables under a page of sum", False)],
)
def test_only_memory_that_the_user_can_place_has_findings(name: str, is_the_users: bool) -> None:
    pattern = patterns.Pattern("run", 4)
    s = pattern.structure(name, 64)
    pattern.access(s, np.arange(64)[None, :], np.arange(4)[:, None], 20_000, 20_000)
    pattern.touch(s, np.arange(64), 0)
    assert bool(of_structure(subject_of(run_of(pattern)))) is is_the_users


@pytest.mark.parametrize(
    ("name", "file", "local", "told"),
    [
        ("work+41", "/src/a.py", True, False),
        ("work+41", "/src/a.py", False, True),  # something is wrong with it
        ("strip", "/src/a.py", True, True),
        ("work+42", "/src/a.py", True, True),  # a variable may have such a name in other lines
        ("work+41", "/src/a.c", True, True),
    ],
)
def test_an_array_without_a_variable_is_told_only_if_something_is_wrong(
    name: str, file: str, local: bool, told: bool
) -> None:
    pattern = patterns.Pattern("numpy", 4)
    s = pattern.structure(name, 64, file=file, line=41)
    page = np.arange(64)
    pattern.access(s, page, page // 16, 2000, 2000)
    pattern.touch(s, page, page // 16 if local else 0)
    assert bool(of_structure(subject_of(run_of(pattern)))) is told
