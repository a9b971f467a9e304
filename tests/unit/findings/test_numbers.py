# SPDX-License-Identifier: Apache-2.0
"""The numbers of findings in very small runs, compared with results by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from numascape.analysis.ownership import Owner
from numascape.findings import Finding
from numascape.findings.diagnoses import (
    cache_resident,
    changing_users,
    displaced_pages,
    load_imbalance,
    migrated_threads,
    page_false_sharing,
    partitioned,
    remote_first_touch,
)
from numascape.findings.footprint import Footprint, footprint_of
from numascape.findings.pattern import Pattern as Use
from numascape.findings.subject import Run, Subject
from synthetic.pattern import PAGE, Pattern
from unit.findings.pattern_cases import owned, use
from unit.findings.run_cases import run_of, subject_of


def numbers(finding: Finding) -> list[float]:
    return [float(evidence.value) for evidence in finding.evidence]


def imbalanced(threads: dict[int, int], *, others: frozenset[int] = frozenset()) -> Run:
    """Threads 1, 2, ... access one page each in one region; thread 0 initialises the pages.

    The threads `others` access another structure.
    """
    pattern = Pattern("uneven", 1 + len(threads))
    pattern.phase("outside")
    region = pattern.phase("region", line=3)
    s, other = pattern.structure("A", 8), pattern.structure("B", 8)
    for thread, count in threads.items():
        used = other if thread in others else s
        pattern.access(used, np.array([thread]), thread, count, 0, phase=region)
        pattern.touch(used, np.array([thread]), 0)
    return run_of(pattern)


def test_an_imbalanced_phase() -> None:
    run = imbalanced({1: 7000, 2: 3000, 3: 3000, 4: 3000})
    (finding,) = load_imbalance.diagnose(run)
    # The mean is 4000; waiting for thread 1 costs 3/7 of the time.
    assert finding.threads == (1,)
    assert "Thread 1 makes 1.8 times as many accesses as the mean thread" in finding.why
    assert numbers(finding) == pytest.approx([1.75, 1.0, 3 / 7])
    assert finding.confidence == pytest.approx(0.5 + 0.5 * (1.75 - 1.4) / 1.4)
    assert finding.nearer == round(3 / 7 * 16000)
    assert finding.why.startswith("In region, the threads")


def test_a_thread_that_waits_is_no_imbalance() -> None:
    # The last thread has less than a tenth of the mean of 2503, but more than a tenth of 2575.
    assert load_imbalance.diagnose(imbalanced({1: 3333, 2: 3333, 3: 3333, 4: 13})) == []
    idle = imbalanced({1: 3000, 2: 1000, 3: 100}, others=frozenset({3}))
    (finding,) = load_imbalance.diagnose(idle)
    assert numbers(finding)[0] == pytest.approx(1.5)  # of 2000; 100 are less than 137
    alone = imbalanced({1: 3000, 2: 10})
    assert load_imbalance.diagnose(alone) == []


def test_a_thread_with_a_much_smaller_part_of_the_same_work_is_an_imbalance() -> None:
    (finding,) = load_imbalance.diagnose(imbalanced({1: 3000, 2: 3000, 3: 60, 4: 60}))
    assert finding.threads == (1, 2)
    assert numbers(finding)[0] == pytest.approx(3000 / 1530)
    # The two other threads have less than a hundredth of the mean.
    assert load_imbalance.diagnose(imbalanced({1: 3000, 2: 3000, 3: 14, 4: 14})) == []


def test_threads_that_run_one_after_the_other_do_not_wait() -> None:
    def judged(ends: list[int]) -> int:
        run = imbalanced({1: 7000, 2: 3000, 3: 3000, 4: 3000})
        lives = run.trace.threads.with_columns(
            created_ns=pl.Series([0, 0, 10, 20, 30], dtype=pl.UInt64),
            ended_ns=pl.Series([99, *ends], dtype=pl.UInt64),
        )
        run.trace.__dict__["threads"] = lives
        return len(load_imbalance.diagnose(run))

    assert judged([10, 20, 30, 40]) == 0
    assert judged([10, 20, 31, 40]) == 0  # threads that wait for each other do the same work
    assert judged([11, 20, 30, 40]) == 1


def test_work_that_is_taken_by_chance_is_no_imbalance() -> None:
    def judged(users: Any) -> int:
        pattern = Pattern("pool", 5)
        pattern.phase("outside")
        region = pattern.phase("region", line=3)
        pages = np.arange(512)
        s = pattern.structure("A", len(pages))
        pattern.access(s, pages, users, 40_000, 0, phase=region)
        pattern.touch(s, pages, 0)
        return len(load_imbalance.diagnose(run_of(pattern)))

    # Of five tasks, thread 1 has two, and threads 2 to 4 have one each.
    chosen = np.random.default_rng(1).choice([1, 1, 2, 3, 4], (4, 512))
    assert judged(np.sort(chosen[0])) == 1
    assert judged(chosen) == 0


@pytest.mark.parametrize("tasks", [False, True])
@pytest.mark.parametrize("users_per_page", [2, 4])
@pytest.mark.parametrize("writes", [0, 1000])
def test_tasks_decide_who_uses_a_page(users_per_page: int, writes: int, tasks: bool) -> None:
    pattern = Pattern("tasks", 4)
    pattern.phase("outside")
    region = pattern.phase("region", line=3)
    pages = np.arange(512)
    s = pattern.structure("A", len(pages))
    for number in range(users_per_page):
        thread = pages // 256 * 2 + number if users_per_page == 2 else number
        pattern.access(s, pages, thread, 40_000, writes, phase=region)
    pattern.touch(s, pages, 0)
    run = run_of(pattern)
    run.__dict__["deals_out_tasks"] = lambda phase: tasks and phase == region
    found = changing_users.diagnose(subject_of(run))
    # If nobody writes, several threads may read the page within one task.
    assert (found is not None) == (tasks and writes > 0)
    if found is not None:
        assert found.why.startswith("OpenMP gives each task or section to a thread that is free")


def resident(name: str, pages: int, times: int, threads: int = 2) -> Any:
    """Threads that use every 8 bytes of these numbers of pages this often."""
    return SimpleNamespace(
        name=name,
        footprint=footprint_of(use(np.full((pages, threads), times * PAGE / 8)), pages * PAGE),
        rows=pl.DataFrame({"reads": [1]}),
        owner=Owner.PROGRAM,
        threads=tuple(range(threads)),
    )


def test_what_is_not_used_in_the_work_needs_no_cache() -> None:
    unused = SimpleNamespace(rows=pl.DataFrame({"reads": []}))
    assert cast(Any, Subject.footprint).func(unused) == Footprint(0.0, 0.0)
    assert resident("A", 4, 10).footprint == Footprint(4.0 * PAGE, 10.0)


def stay(*subjects: Any) -> bool:
    run = SimpleNamespace(subjects=subjects, nodes=None)
    for subject in subjects:
        subject.run = run
    return cache_resident.is_cache_resident(subjects[0])


def test_a_cache_holds_what_is_used_most() -> None:
    assert resident("A", 3, 20).footprint == Footprint(3 * PAGE, 20.0)
    assert stay(resident("A", 32, 16))  # 128 KiB
    assert not stay(resident("A", 33, 16))
    assert not stay(resident("A", 32, 15))
    # A structure that is used more than a quarter as often competes: together, they have 256 KiB.
    assert not stay(resident("A", 31, 80), resident("B", 34, 21))
    assert stay(resident("A", 31, 80), resident("B", 33, 21))
    assert stay(resident("A", 31, 80), resident("B", 34, 20))
    # Memory that only one thread uses does not compete.
    assert stay(resident("A", 31, 80), resident("B", 34, 80, threads=1))
    # A structure with a twentieth of the accesses of the others hardly matters.
    assert stay(resident("A", 5, 80), resident("B", 100, 80))
    assert not stay(resident("A", 6, 80), resident("B", 119, 80))
    # But a structure that does not fit alone does not stay in the cache.
    assert stay(resident("A", 32, 80), resident("B", 1000, 80))
    assert not stay(resident("A", 33, 80), resident("B", 1000, 80))
    other = resident("B", 34, 80)
    other.owner = Owner.RUNTIME
    assert stay(resident("A", 31, 80), other)


def test_counted_lines_decide_whether_it_is_cache_resident() -> None:
    def stays(lines: int, pages: int = 32) -> bool:
        subject: Any = SimpleNamespace(
            rows=pl.DataFrame({"memory_lines": [lines]}),
            working=1280,
            footprint=Footprint(pages * PAGE, 1.0),
        )
        return cache_resident.is_cache_resident(subject)

    assert (stays(10), stays(11)) == (True, False)
    # The structure fits only into a cache that cores share.
    assert not stays(10, pages=33)
    assert not cache_resident.is_cache_resident(SimpleNamespace(rows=pl.DataFrame()))  # type: ignore[arg-type]


def far(own_share: float, pattern: Use, touched_by_one: float = 0.5, toucher: Any = 0) -> Any:
    return SimpleNamespace(
        structure=0,
        name="A",
        threads=(4, 5),
        pattern=pattern,
        own_share=own_share,
        use=use(owned(32, 4, 0.9)),
        whole=SimpleNamespace(
            first_toucher=toucher, first_toucher_share=touched_by_one, touched_pages=32,
            place=("", "", 0), threads=2, own_share=own_share,
        ),
        far_from=lambda share: 1 - own_share >= share,
        run=SimpleNamespace(openmp=False, has_python=False),
        row={"size": 4096 * 32, "kind": "global", "function": "", "file": "", "line": 0},
        touched_at=None,
        touched_as=None,
        initial_loop=None,
        used_at=None,
        worked_in=None,
        foreign=77,
        is_dealt_out=False,
        remote=None,
        working=100,
    )  # fmt: skip


def test_where_others_work_than_those_who_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_first_touch, "who_touched", lambda _: "why")
    diagnose = remote_first_touch.diagnose
    found = diagnose(far(0.25, Use.SPLIT))
    assert found is not None
    assert numbers(found) == pytest.approx([0.75, 0.9])
    assert found.confidence == pytest.approx(0.5 + 0.5 * 0.5 / 0.75)
    assert (found.threads, found.nearer, [fix.remedy.value for fix in found.fixes]) == (
        (4, 5), 77, ["users", "none", "interleaved"]
    )  # fmt: skip
    assert diagnose(far(0.75, Use.SPLIT)) is not None
    assert diagnose(far(0.76, Use.SPLIT)) is None
    assert diagnose(far(0.25, Use.SPLIT, 0.8)) is None  # a serial first touch
    assert diagnose(far(0.25, Use.PARTS_SHARE_PAGES, 0.79)) is not None
    assert diagnose(far(0.25, Use.SHARED)) is None
    assert diagnose(far(0.25, Use.SPLIT, toucher=None)) is None
    one = diagnose(far(0.5, Use.ONE_THREAD))
    assert one is not None
    assert one.advice[0].startswith("Initialise it in thread 4")
    assert diagnose(far(0.51, Use.ONE_THREAD)) is None


def test_parts_that_are_well_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned, "who_touched", lambda _: "why")
    subject = far(0.95, Use.SPLIT)
    found = partitioned.diagnose(subject)
    assert found is not None
    assert numbers(found) == pytest.approx([0.9, 0.95])
    assert found.confidence == pytest.approx(0.5 + 0.5 * (0.9 - 0.75) / 0.25)


def test_parts_that_meet_in_pages_are_padded() -> None:
    pattern = Pattern("meeting", 4)
    s = pattern.structure("A", 3)
    # Four parts of three quarters of a page: each page has two users.
    for page in range(3):
        for thread in range(4):
            begin, end = max(page, thread * 0.75), min(page + 1, (thread + 1) * 0.75)
            if end > begin:
                count = round((end - begin) * 1_000_000)
                pattern.access(s, np.array([page]), thread, count, 0)
        pattern.touch(s, np.array([page]), 0)
    found = page_false_sharing.diagnose(subject_of(run_of(pattern)))
    assert found is not None
    assert numbers(found) == [1.0, 3072.0]
    assert "round each part up to 4096 bytes (4096 bytes more)" in found.advice[0]
    assert found.confidence == 1.0


def pages(*rows: tuple[int, int, int, int]) -> pl.DataFrame:
    """Thread, its node, the page's node, and the order of the first touch."""
    return pl.DataFrame(rows, schema=["thread", "thread_node", "node", "order"], orient="row")


def test_the_chance_that_a_displaced_page_was_touched_later() -> None:
    later = displaced_pages._touched_later
    assert later(pages((0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 1, 3), (0, 0, 1, 4))) == 1.0
    assert later(pages((0, 0, 1, 1), (0, 0, 0, 2), (0, 0, 0, 3))) == 0.0
    # Three of four pairs on node 0, and none of the one pair on node 1.
    mixed = [(0, 0, 0, 1), (0, 0, 1, 2), (0, 0, 0, 3), (0, 0, 1, 4), (1, 1, 0, 5), (1, 1, 1, 6)]
    assert later(pages(*mixed)) == pytest.approx(3 / 5)
    assert later(pages((0, 0, 0, 1))) == 0.5


def test_pages_are_interleaved_over_several_nodes_evenly() -> None:
    def interleaved(*counts: int) -> bool:
        nodes = [node for node, count in enumerate(counts) for _ in range(count)]
        return displaced_pages._interleaved(pages(*((0, 0, node, 0) for node in nodes)))

    assert interleaved(13, 7)  # 1.3 times the mean
    assert not interleaved(14, 6)
    assert not interleaved(20)


def test_threads_left_their_pages_behind_on_nodes_of_their_own() -> None:
    def left(*away: tuple[int, int, int]) -> bool:
        return displaced_pages._left_behind(
            pages(*((thread, 9, node, 0) for thread, node, count in away for _ in range(count)))
        )

    assert left((0, 1, 6), (1, 2, 6))
    assert not left((0, 1, 6), (1, 2, 5))  # five pages may be chance
    assert not left((0, 1, 6), (1, 1, 6))  # on one node for all: a policy
    assert left((0, 1, 9), (0, 2, 1), (1, 2, 6))  # nine of ten are enough
    assert not left((0, 1, 8), (0, 2, 1), (1, 2, 6))


def moved(accesses: list[int], nodes: list[list[int]]) -> list[Finding]:
    """Each of four threads uses one page, and was seen on some nodes."""
    pattern = Pattern("moved", 4)
    s = pattern.structure("A", 4)
    page = np.arange(4)
    pattern.access(s, page, page, np.array(accesses), 0)
    pattern.touch(s, page, page)
    run = run_of(pattern, nodes=True)
    seen = pl.Series(nodes, dtype=pl.List(pl.UInt32))
    run.trace.__dict__["threads"] = run.trace.threads.with_columns(nodes=seen)
    return migrated_threads.diagnose(run)


def test_threads_that_moved_matter_if_they_make_a_hundredth_of_the_work() -> None:
    nodes = [[0], [0, 1], [2], [3]]
    assert len(moved([33_000, 1_000, 33_000, 33_000], nodes)) == 1
    assert moved([33_000, 999, 33_000, 33_000], nodes) == []


def test_threads_that_moved() -> None:
    (found,) = moved([40_000, 30_000, 20_000, 10_000], [[0], [0, 1], [2], [3, 0]])
    assert found.threads == (1, 3)
    assert numbers(found) == pytest.approx([2.0, 0.4])
    assert (found.nearer, found.confidence) == (20_000, 1.0)
