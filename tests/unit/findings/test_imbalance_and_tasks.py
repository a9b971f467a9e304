# SPDX-License-Identifier: Apache-2.0
"""A schedule that balances time is not an imbalance; the advice against an imbalance."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from numascape.findings.diagnoses import changing_users, load_imbalance, migrated_threads
from numascape.findings.diagnoses.changing_users import (
    _fixes,
    _taken_by_chunks,
    _taken_by_pool,
    _taken_by_tasks,
)
from numascape.findings.diagnoses.load_imbalance import _even_out, _users_change
from numascape.findings.finding import Kind, Place, Remedy
from numascape.findings.pattern import Pattern as Use
from numascape.findings.sources import Schedule
from numascape.findings.subject import Run, Subject
from numascape.trace.schema import SCHEMAS
from synthetic.pattern import Pattern
from synthetic.placed import Placed
from unit.findings.run_cases import run_of, subject_of

AT = Place("sweep", "/src/a.c", 9)


def uneven() -> Run:
    """One of four threads makes most accesses, in the only phase."""
    pattern = Pattern("uneven", 5)
    s = pattern.structure("A", 8)
    for thread, count in enumerate((1, 7000, 3000, 3000, 3000)):
        pattern.access(s, np.array([thread]), thread, count, 0)
        pattern.touch(s, np.array([thread]), 0)
    return run_of(pattern)


@pytest.mark.parametrize(("groups", "found"), [(8, True), (1, False)])
def test_an_imbalance_is_larger_than_the_error_of_bursts(groups: int, found: bool) -> None:
    """If all accesses of the busiest thread are in one of eight groups, they may be chance."""
    run = uneven()
    recorder = dataclasses.replace(run.trace.info.recorder, options={"sample": 0.05})
    run.trace.__dict__["info"] = dataclasses.replace(run.trace.info, recorder=recorder)
    rows = [
        (0, row["thread"], 0, group, row["reads"] // groups, 0, 9)
        for row in run.trace.accesses.iter_rows(named=True)
        for group in range(groups)
    ]
    run.trace.__dict__["burst_groups"] = pl.DataFrame(rows, SCHEMAS["burst_groups"], orient="row")
    findings = load_imbalance.diagnose(run)
    assert bool(findings) is found
    for finding in findings:
        (error,) = [one for one in finding.evidence if "error of this ratio" in one.what]
        assert error.value == pytest.approx(7000 / 72 / 4000)  # one of 72 bursts


@pytest.mark.parametrize(("together", "found"), [(True, True), (False, False)])
def test_threads_do_not_wait_for_those_of_an_earlier_stage(together: bool, found: bool) -> None:
    """Threads 1 and 2 load data for threads 3 and 4, which make ten times as many accesses."""
    pattern = Pattern("stages", 5)
    s = pattern.structure("A", 8)
    for thread, count in enumerate((1, 1000, 1000, 10_000, 10_000)):
        pattern.access(s, np.array([thread]), thread, count, 0)
        pattern.touch(s, np.array([thread]), 0)
    run = run_of(pattern)
    if not together:
        loader = pl.col("thread").is_in([1, 2])
        run.trace.__dict__["threads"] = run.trace.threads.with_columns(
            ended_ns=pl.when(loader).then(1_000_000).otherwise("ended_ns"),
            created_ns=pl.when(pl.col("thread") > 2).then(2_000_000).otherwise("created_ns"),
        )
    assert bool(load_imbalance.diagnose(run)) is found


def with_source(
    run: Run, schedule: Schedule | None, *, dynamic: bool = False, called: bool = False
) -> Run:
    found = SimpleNamespace(
        busiest=lambda _: AT,
        schedule=lambda _: None if called else schedule,
        whole_loop=lambda _: schedule if called else None,
        is_called=lambda *_: called,
        has_dynamic_loop=lambda _: dynamic,
        deals_out_tasks=lambda *_, **__: False,
        has_tasks=lambda _: False,
        waits=lambda *_: False,
        takes_next_part=lambda _: False,
        waits_for_work=lambda _: False,
    )
    run.__dict__["sources"] = found
    return run


@pytest.mark.parametrize(
    ("schedule", "dynamic", "found"),
    [
        (Schedule(AT, "dynamic", ""), False, False),
        (Schedule(AT, "guided", ""), False, False),
        (Schedule(AT, "static", "4"), False, True),
        (Schedule(AT, "", ""), True, True),  # the loop itself has no dynamic schedule
        (None, True, False),
        (None, False, True),
    ],
)
def test_a_dynamic_schedule_balances_time(
    schedule: Schedule | None, dynamic: bool, found: bool
) -> None:
    findings = load_imbalance.diagnose(with_source(uneven(), schedule, dynamic=dynamic))
    assert bool(findings) is found
    if findings:
        assert findings[0].why.startswith("The threads do unequal work. Thread 1 makes 1.8 times")
        assert findings[0].place == AT


def test_a_region_divides_the_work_of_the_functions_that_it_calls() -> None:
    region = Place("all", "/src/all.c", 30)
    run = with_source(uneven(), Schedule(region, "static", ""), called=True)
    (finding,) = load_imbalance.diagnose(run)
    assert finding.place == region
    assert finding.fixes[0].text.startswith("The loop at all.c:30 has schedule(static). Use")
    assert not load_imbalance.diagnose(
        with_source(uneven(), Schedule(region, "dynamic", ""), called=True)
    )
    run = with_source(uneven(), None, called=True)
    (finding,) = load_imbalance.diagnose(run)
    assert finding.place == run.region(0)  # not the function with most of the accesses


@pytest.mark.parametrize(
    ("changing", "others", "change"),
    [(51, 49, True), (50, 50, False), (0, 100, False), (1, 0, True)],
)
def test_users_change_if_most_work_is_on_pages_that_change_them(
    changing: int, others: int, change: bool
) -> None:
    counts = {0: changing, 1: others, 2: 0, 3: 900}
    patterns = {0: Use.CHANGING, 1: Use.SPLIT, 3: Use.CHANGING}
    rows = [(2 if s == 3 else 1, s, n - n // 3, n // 3) for s, n in counts.items()]
    subjects = {
        s: SimpleNamespace(pattern=pattern, is_dealt_out=False) for s, pattern in patterns.items()
    }
    run: Any = SimpleNamespace(
        rows=pl.DataFrame(rows, schema=["phase", "structure", "reads", "writes"], orient="row"),
        subject=subjects.get,
    )
    assert _users_change(run, 1) is change
    assert not _users_change(run, 7)
    subjects[1].is_dealt_out = True
    assert _users_change(run, 1)


@pytest.mark.parametrize(
    ("schedule", "openmp", "said"),
    [
        (Schedule(AT, "static", ""), True, "The loop at a.c:9 has schedule(static). Use `sched"),
        (Schedule(AT, "", ""), True, "The loop at a.c:9 has no schedule clause. Use `schedule("),
        (None, True, "Divide the work at sweep (a.c:9) into parts with equal numbers of accesses,"),
        (None, False, "not equal lengths (see the finding `hot pages`, if any)."),
        (None, True, "not equal lengths, or into smaller chunks."),
    ],
)
def test_uneven_work_is_divided_where_it_is(
    schedule: Schedule | None, openmp: bool, said: str
) -> None:
    run: Any = SimpleNamespace(openmp=openmp, computes=False)
    assert said in _even_out(run, AT, schedule)
    assert _even_out(run, None, None).startswith("Divide the work into parts")
    run.computes = True
    assert "into parts with equal work, not" in _even_out(run, None, None)


@pytest.mark.parametrize(
    ("pattern", "in_tasks", "written", "taken"),
    [
        (Use.CHANGING, True, 0.0, True),
        (Use.GROUPS, True, 0.02, True),
        (Use.GROUPS, True, 0.01, False),
        (Use.SHARED, True, 0.02, True),
        (Use.SHARED, True, 0.01, False),
        (Use.SPLIT, True, 0.5, False),
        (Use.CHANGING, False, 0.5, False),
    ],
)
def test_tasks_take_what_several_threads_use_or_write(
    monkeypatch: pytest.MonkeyPatch, pattern: Use, in_tasks: bool, written: float, taken: bool
) -> None:
    monkeypatch.setattr(changing_users, "written_share", lambda _: written)
    subject: Any = SimpleNamespace(pattern=pattern, in_tasks=in_tasks)
    assert _taken_by_tasks(subject) is taken


@pytest.mark.parametrize(
    ("pattern", "known", "taken"),
    [
        (Use.SHARED, {}, True),
        (Use.GROUPS, {}, True),
        (Use.SHARED, {"openmp": True}, False),
        (Use.SHARED, {"written": 0.01}, False),
        (Use.SHARED, {"accesses": 511}, False),  # a user makes less than 128 accesses
        (Use.SPLIT, {}, True),
        (Use.SPLIT, {"serial": 0.8}, False),
        (Use.SPLIT, {"far": 0.24}, False),
        (Use.SPLIT, {"in_order": True}, False),
        (Use.ONE_THREAD, {}, False),
    ],
)
def test_a_pool_takes_what_threads_write_for_a_while(
    monkeypatch: pytest.MonkeyPatch, pattern: Use, known: dict[str, Any], taken: bool
) -> None:
    monkeypatch.setattr(changing_users, "written_share", lambda _: known.get("written", 0.02))
    in_turn = known.get("accesses", 512) / 4
    monkeypatch.setattr(changing_users, "accesses_in_turn", lambda *_: in_turn)
    monkeypatch.setattr(changing_users, "users_change", lambda _: not known.get("in_order"))
    subject: Any = SimpleNamespace(
        run=SimpleNamespace(takes_next_part=not known.get("openmp", False)),
        judged=None,
        pattern=pattern,
        use=None,
        touchers=None,
        whole=SimpleNamespace(first_toucher_share=known.get("serial", 0.79)),
        far_from=lambda share: known.get("far", 0.25) >= share,
    )
    assert _taken_by_pool(subject) is taken


def test_a_pool_balances_time() -> None:
    run = uneven()
    assert load_imbalance.diagnose(run)
    run.__dict__["takes_next_part"] = True
    assert not load_imbalance.diagnose(run)
    assert not changing_users._taken_by_pool(subject_of(run))


def test_threads_that_wait_for_work_do_not_wait_for_each_other() -> None:
    run = uneven()
    run.__dict__["waits_for_work"] = True
    assert not load_imbalance.diagnose(run)


def random_users(written: int = 500) -> Any:
    """512 pages, each used by two random threads of four."""
    pattern = Pattern("pool", 4)
    s, pages = pattern.structure("A", 512), np.arange(512)
    chosen = np.random.default_rng(2).integers(0, 4, (2, 512))
    pattern.access(s, pages, chosen, 40_000, written)
    pattern.touch(s, pages, pages % 4)
    return subject_of(run_of(pattern))


@pytest.mark.parametrize(
    ("schedule", "said", "sure", "first"),
    [
        (None, "changes from repetition to repetition. Pages are assigned almost", 0, "interleave"),
        (
            Schedule(AT, "dynamic", "2"),
            "changes from repetition to repetition, as schedule(dynamic, 2) makes it. Pages are",
            0.95,
            "divide",
        ),
        (Schedule(AT, "", ""), "The loop has no schedule clause, so a thread has", 0, "interleave"),
        (Schedule(AT, "static", ""), "The loop has schedule(static), so a thread", 0, "interleave"),
        (Schedule(AT, "static", "8"), "from repetition to repetition. Pages are", 0, "divide"),
    ],
)
def test_the_schedule_says_why_users_change(
    schedule: Schedule | None, said: str, sure: float, first: str
) -> None:
    subject = random_users()
    subject.__dict__["schedule"] = schedule
    finding = changing_users.diagnose(subject)
    assert finding is not None
    assert said in finding.why
    assert "took each page about 2 times" in finding.why
    assert finding.place == (AT if schedule else subject.used_at)
    assert (finding.confidence == 0.95) is (sure == 0.95)
    remedies = {"interleave": Remedy.INTERLEAVED, "divide": Remedy.DIVIDED}
    assert finding.fixes[0].remedy is remedies[first]


@pytest.mark.parametrize(("written", "divided"), [(0, False), (4000, True)])
def test_what_tasks_only_read_does_not_say_how_to_divide_them(
    monkeypatch: pytest.MonkeyPatch, written: int, divided: bool
) -> None:
    monkeypatch.setattr(Subject, "in_tasks", True)
    finding = changing_users.diagnose(random_users(written))
    assert finding is not None
    assert (Remedy.DIVIDED in {fix.remedy for fix in finding.fixes}) is divided


@pytest.mark.parametrize(("reads", "found"), [(98, 0), (102, 1)])
def test_threads_that_moved_matter_from_one_percent_of_the_work(reads: int, found: int) -> None:
    pattern = Placed("moved", 4)
    s = pattern.structure("A", 4)
    for thread, count in enumerate((reads, 3300, 3300, 3400 - reads)):
        pattern.access(s, np.array([thread]), thread, count, 0)
        pattern.touch(s, np.array([thread]), thread)
    pattern.nodes_of_threads = [[0, 1], [0], [1], [1]]
    findings = migrated_threads.diagnose(run_of(pattern, nodes=True))
    assert len(findings) == found
    for finding in findings:
        assert (finding.kind, finding.threads) == (Kind.MIGRATED_THREADS, (0,))
        assert finding.nearer == reads // 2
        assert finding.evidence[1].value == reads / 10_000
    two = run_of(pattern, nodes=True)
    info = two.trace.info
    nodes = dataclasses.replace(info.machine, nodes=info.machine.nodes[:2])
    two.trace.__dict__["info"] = dataclasses.replace(info, machine=nodes)
    assert len(migrated_threads.diagnose(two)) == found
    assert migrated_threads.diagnose(run_of(pattern)) == []  # one node


@pytest.mark.parametrize(
    ("own", "known", "taken"),
    [
        pytest.param("dynamic", {"pattern": Use.GROUPS, "in_turn": 1}, True, id="few repetitions"),
        pytest.param("dynamic", {}, True, id="many repetitions"),
        pytest.param("dynamic", {"in_turn": 127}, False, id="single entries"),
        pytest.param("dynamic", {"written": 0.01}, False, id="hardly written"),
        pytest.param("static", {"around": True}, False, id="its own loop is static"),
        pytest.param(None, {"around": True}, True, id="the loop calls the code"),
        pytest.param(None, {}, False, id="no schedule"),
    ],
)
def test_chunks_that_threads_take_change_users(
    own: str | None, known: dict[str, Any], taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = {"pattern": Use.SHARED, "in_turn": 128, "written": 0.02, "around": False, **known}
    monkeypatch.setattr(changing_users, "written_share", lambda _: case["written"])
    monkeypatch.setattr(changing_users, "accesses_in_turn", lambda *_: case["in_turn"])
    subject: Any = SimpleNamespace(
        schedule=None if own is None else Schedule(AT, own, ""),
        main_phase=1,
        run=SimpleNamespace(has_dynamic_loop=lambda _: case["around"]),
        judged=None,
        pattern=case["pattern"],
        use=None,
        touchers=None,
    )
    dynamic: Any = vars(Subject)["in_dynamic_loop"].fget
    subject.in_dynamic_loop = dynamic(subject)
    assert _taken_by_chunks(subject) is taken


@pytest.mark.parametrize(
    ("touched", "remedies"),
    [(0.43, ["divided", "none"]), (0.44, ["interleaved", "divided", "none"])],
)
def test_pages_that_are_on_all_nodes_already_are_not_spread(
    touched: float, remedies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("interleave_pages", "pin"):
        monkeypatch.setattr(changing_users, part, lambda _: "Do it")
    subject: Any = SimpleNamespace(
        run=None,
        pattern=Use.CHANGING,
        threads=(0, 1, 2, 3),
        whole=SimpleNamespace(first_toucher_share=touched),
    )
    assert [
        fix.remedy.value for fix in _fixes(subject, "Exchange the loops.", walked=True)
    ] == remedies
