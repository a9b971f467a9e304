# SPDX-License-Identifier: Apache-2.0
"""Groups of threads that share pages, and the advice if no groups are separate."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from numascape.analysis.seen_lines import Overlap
from numascape.findings import Finding, findings_of
from numascape.findings.advice import local_parts
from numascape.findings.diagnoses import changing_users, shared_by_groups, shared_written
from numascape.findings.finding import Kind, Place, Remedy
from numascape.findings.pattern import Pattern as Use
from numascape.findings.pattern import parts_in_turn
from numascape.findings.sources import Schedule
from numascape.findings.thread_groups import has_separate_groups, thread_group_sizes
from synthetic.pattern import Pattern
from unit.findings.pattern_cases import use
from unit.findings.run_cases import run_of, subject_of

ROWS = [[1, 1, 0, 0]] * 50 + [[0, 0, 1, 1]] * 50
COLUMNS = [[1, 0, 1, 0]] * 50 + [[0, 1, 0, 1]] * 50


def test_threads_that_use_the_same_page_are_in_one_group() -> None:
    assert thread_group_sizes([use(ROWS)]) == [2, 2]
    assert thread_group_sizes([use(ROWS), use(ROWS)]) == [2, 2]
    assert thread_group_sizes([use(ROWS), use(COLUMNS)]) == [4]
    assert thread_group_sizes([use([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])]) == [4]
    assert thread_group_sizes([use([[0, 1, 1, 1], [1, 0, 0, 0]])]) == [3, 1]
    assert thread_group_sizes([]) == []


def test_a_page_at_the_border_of_two_groups_does_not_join_them() -> None:
    # It has 20 of 200 accesses, and then 22 of 202; the usual sets have nine tenths.
    assert thread_group_sizes(
        [use([*[[9, 9, 0, 0]] * 5, *[[0, 0, 9, 9]] * 5, [0, 10, 10, 0]])]
    ) == [2, 2]
    assert thread_group_sizes(
        [use([*[[9, 9, 0, 0]] * 5, *[[0, 0, 9, 9]] * 5, [0, 11, 11, 0]])]
    ) == [4]


@pytest.mark.parametrize(("cpus", "fit"), [(2, True), (1, False), (None, True)])
def test_a_group_must_fit_on_a_node(cpus: int | None, fit: bool) -> None:
    nodes = [SimpleNamespace(cpus=[]), SimpleNamespace(cpus=list(range(cpus or 0)))]
    run: Any = SimpleNamespace(
        subjects=[SimpleNamespace(use=use(ROWS), pattern=Use.GROUPS)],
        nodes=None if cpus is None else SimpleNamespace(machine=SimpleNamespace(nodes=nodes)),
    )
    assert has_separate_groups(run) is fit
    run.subjects[0].pattern = Use.SHARED
    assert not has_separate_groups(run)


def shared(written: int, *sets: list[list[int]]) -> list[Finding]:
    """Findings of structures whose pages have these users; thread 4 touched them first."""
    return [f for f in of_users(written, *sets) if f.kind is Kind.SHARED_BY_GROUPS]


def of_users(written: int, *sets: list[list[int]]) -> list[Finding]:
    pattern = Pattern("grid", 5)
    for number, users in enumerate(sets):
        s = pattern.structure(f"S{number}", len(users))
        page, thread = np.nonzero(np.array(users))
        pattern.access(s, page, thread, 40_000, written)
        pattern.touch(s, np.arange(len(users)), 4)
    return findings_of(run_of(pattern))


@pytest.mark.parametrize(
    ("written", "kind"), [(0, Kind.SHARED_READ_MOSTLY), (900, Kind.SHARED_WRITTEN)]
)
def test_threads_that_use_less_of_what_all_use_are_no_groups(written: int, kind: Kind) -> None:
    """As in a triangle: all threads use the first pages, and only the last thread uses all."""
    triangle = [[1] * 4] * 25 + [[0, 1, 1, 1]] * 25 + [[0, 0, 1, 1]] * 25 + [[0, 0, 0, 1]] * 25
    found = {f.kind for f in of_users(written, triangle) if f.structure is not None}
    assert found - {Kind.HOT_PAGES} == {kind}


def test_threads_with_most_of_their_pages_need_no_spreading() -> None:
    """All threads look up all pages, but the main user of each page touched it first."""
    pattern = Pattern("owned", 4)
    s = pattern.structure("S", 400)
    for part in range(4):
        pages = np.arange(100 * part, 100 * part + 100)
        for thread in range(4):
            pattern.access(s, pages, thread, 60_000 if thread == part else 15_000, 900)
        pattern.touch(s, pages, part)
    assert not [f for f in findings_of(run_of(pattern)) if f.structure is not None]


@pytest.mark.parametrize(
    ("written", "sets", "remedies"),
    [
        (900, (ROWS,), ["users", "divided"]),
        (0, (ROWS,), ["users", "divided", "copied"]),
        (0, (ROWS, COLUMNS), ["interleaved", "copied", "divided"]),
        (900, (ROWS, COLUMNS), ["interleaved", "divided"]),
    ],
)
def test_groups_get_a_node_each_only_if_they_are_separate(
    written: int, sets: tuple[list[list[int]], ...], remedies: list[str]
) -> None:
    found = shared(written, *sets)
    assert len(found) == len(sets)
    for finding in found:
        assert [fix.remedy.value for fix in finding.fixes] == remedies


@pytest.mark.parametrize("by", ["tasks", "schedule"])
def test_groups_that_change_with_time_get_no_node(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_by_groups, "has_separate_groups", lambda _: True)
    monkeypatch.setattr(shared_by_groups, "written_share", lambda _: 1.0)
    for part in ("interleave_pages", "use_contiguous_parts"):
        monkeypatch.setattr(shared_by_groups, part, lambda _: "")
    subject: Any = SimpleNamespace(
        in_tasks=by == "tasks",
        schedule=SimpleNamespace(is_dynamic=True) if by == "schedule" else None,
        looked_up=False,
        run=None,
    )
    assert shared_by_groups._fixes(subject)[0].remedy is Remedy.INTERLEAVED
    subject.looked_up = True
    assert len(shared_by_groups._fixes(subject)) == 1


def test_what_random_threads_look_up_is_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("interleave_pages", "use_contiguous_parts"):
        monkeypatch.setattr(shared_written, part, lambda _: "")
    trace = SimpleNamespace(accesses=[], transfers=SimpleNamespace(is_empty=lambda: False))
    subject: Any = SimpleNamespace(
        schedule=None,
        uses_single_entries=True,
        own_instances=False,
        run=SimpleNamespace(trace=trace),
        seen=SimpleNamespace(overlap=Overlap()),
    )
    monkeypatch.setattr(shared_written, "has_memory_lines", lambda _: True)
    assert [fix.remedy.value for fix in shared_written._fixes(subject)] == ["interleaved"]
    subject.schedule = Schedule(Place("f", "a.c", 3), "dynamic", "64")
    assert [fix.remedy.value for fix in shared_written._fixes(subject)] == ["interleaved"]
    subject.uses_single_entries = False
    assert [fix.remedy.value for fix in shared_written._fixes(subject)] == [
        "divided",
        "interleaved",
    ]
    subject.schedule = None
    assert [fix.remedy.value for fix in shared_written._fixes(subject)] == [
        "interleaved",
        "divided",
    ]
    subject.own_instances = True
    (leave, divide) = shared_written._fixes(subject)
    assert leave.text.startswith("Leave its pages where they are")
    assert (leave.remedy, divide.remedy) == (Remedy.NONE, Remedy.DIVIDED)


@pytest.mark.parametrize(
    ("openmp", "free", "written", "anew", "first"),
    [
        (False, True, 0.02, False, "divided"),
        (False, True, 0.02, True, "interleaved"),
        (False, False, 0.02, False, "interleaved"),
        (False, True, 0.01, False, "interleaved"),
        (True, True, 0.02, False, "interleaved"),
    ],
)
def test_threads_of_a_pool_could_have_fixed_parts_of_what_they_write(
    openmp: bool,
    free: bool,
    written: float,
    anew: bool,
    first: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changing_users, "written_share", lambda _: written)
    monkeypatch.setattr(changing_users, "has_sharing_stage", lambda *_: False)
    for part in ("interleave_pages", "use_contiguous_parts", "pin"):
        monkeypatch.setattr(changing_users, part, lambda _: "Do it")
    sources = SimpleNamespace(has_new_range=lambda _: anew)
    run = SimpleNamespace(
        openmp=openmp, trace=None, gives_work_to_free_threads=free, sources=sources
    )
    subject: Any = SimpleNamespace(run=run, blocks=None, schedule=None, in_tasks=False)
    fixes = changing_users._fixes(subject, "")
    assert fixes[0].remedy.value == first
    assert (Remedy.DIVIDED in {fix.remedy for fix in fixes}) is not anew


@pytest.mark.parametrize(
    ("free", "writes", "kind"),
    [
        (False, 0, Kind.SHARED_READ_MOSTLY),
        (False, 2000, Kind.CHANGING_USERS),
        (True, 0, Kind.CHANGING_USERS),
    ],
)
def test_pages_that_fixed_parts_of_the_work_read_in_no_order_are_read_mostly(
    free: bool, writes: int, kind: Kind
) -> None:
    """Each page has up to three users, as if the rays of image parts cross a volume."""
    pattern = Pattern("rays", 5)
    page = np.arange(256)
    s = pattern.structure("A", 256)
    for users in np.random.default_rng(3).integers(1, 5, (3, 256)):
        pattern.access(s, page, users, 4000, writes)
    pattern.touch(s, page, 0)
    run = run_of(pattern)
    run.__dict__["gives_work_to_free_threads"] = free
    (finding,) = (f for f in findings_of(run) if f.structure == s)
    assert finding.kind is kind


def test_pages_of_the_next_free_thread_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thread 0 touches the pages first, and a random thread uses each page."""
    pattern = Pattern("queue", 5)
    page = np.arange(256)
    s = pattern.structure("A", 256)
    pattern.access(s, page, np.random.default_rng(3).integers(1, 5, 256), 4000, 0)
    pattern.touch(s, page, 0)
    subject = subject_of(run_of(pattern))
    assert subject.is_dealt_out
    assert [fix.remedy.value for fix in local_parts(subject)] == ["interleaved", "none"]
    monkeypatch.setitem(subject.__dict__, "is_dealt_out", False)
    assert [fix.remedy.value for fix in local_parts(subject)] == ["users", "none", "interleaved"]


def in_turn(bytes_each: int, threads: int = 4, pages: int = 600) -> Any:
    """Parts of this number of bytes, for each thread in turn."""
    owner = np.arange(pages * 4096) // bytes_each % threads
    return [np.bincount(part, minlength=threads) for part in owner.reshape(pages, 4096)]


def test_parts_in_turn_that_are_shorter_than_a_page() -> None:
    assert parts_in_turn(use(in_turn(2400)))
    assert not parts_in_turn(use(in_turn(2400, pages=63)))
    assert not parts_in_turn(use(in_turn(4096 * 8)))  # whole pages
    assert not parts_in_turn(use(in_turn(600, 8)))  # more than three users
    chosen = np.random.default_rng(1).permuted(np.tile([1, 1, 0, 0], (600, 1)), axis=1)
    assert not parts_in_turn(use(chosen))


def test_parts_in_turn_are_false_sharing_of_pages() -> None:
    pattern = Pattern("turns", 4)
    counts = np.array(in_turn(2400))
    s = pattern.structure("A", len(counts))
    page, thread = np.nonzero(counts)
    pattern.access(s, page, thread, 20 * counts[page, thread], counts[page, thread])
    pattern.touch(s, np.arange(len(counts)), 0)
    subject = subject_of(run_of(pattern))
    assert subject.pattern is Use.PARTS_IN_TURN
    (finding,) = [f for f in findings_of(subject.run) if f.kind is Kind.PAGE_FALSE_SHARING]
    assert finding.fixes[0].remedy is Remedy.DIVIDED
    assert finding.fixes[0].text.startswith("Put the parts of one thread together")
    assert "About 2." in finding.why


def test_the_threads_of_a_group_are_predicted_on_one_node() -> None:
    """Eight groups of threads, each of which has threads on all four nodes."""
    pattern = Pattern("strided", 65)
    page = np.arange(1024)
    s = pattern.structure("A", 1024)
    for member in range(8):
        pattern.access(s, page, page // 128 + 8 * member, 400_000, 40_000)
    pattern.touch(s, page, 64)
    (found,) = [
        finding
        for finding in findings_of(run_of(pattern, nodes=True))
        if finding.kind is Kind.SHARED_BY_GROUPS
    ]
    gains = {fix.remedy: fix.gain.share for fix in found.fixes if fix.gain is not None}
    assert found.remedy is Remedy.USERS
    assert gains[Remedy.USERS] == pytest.approx(gains[Remedy.DIVIDED])
    assert gains[Remedy.USERS] > 0
