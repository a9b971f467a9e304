# SPDX-License-Identifier: Apache-2.0
"""Diagnoses of first touches and of shared pages, exactly at their borders."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.analysis.ownership import Owner
from numascape.analysis.seen_lines import Overlap
from numascape.findings.diagnoses import (
    one_first_toucher,
    one_node_serves_all,
    remote_first_touch,
    serial_first_touch,
    shared_by_groups,
    shared_read_mostly,
    shared_stack,
    shared_written,
)
from numascape.findings.finding import Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject


def subject(pattern: Pattern, **known: Any) -> Any:
    """Threads 1 and 2 work on memory that thread 1 touched first, by default."""
    whole = SimpleNamespace(
        first_toucher=known.pop("toucher", 1),
        first_toucher_share=known.pop("serial", 1.0),
        first_touched_pages=8,
        place=("fill", "/src/a.c", 3),
        accesses=known.pop("accesses", 100),
    )
    run = SimpleNamespace(
        openmp=False,
        has_python=False,
        nodes=None,
        rows=known.pop("rows_of_run", None),
        trace=SimpleNamespace(
            threads=SimpleNamespace(height=4), accesses=pl.DataFrame(), transfers=pl.DataFrame()
        ),
        accesses=40,
        first_in_place={},
        touched_by=lambda _: known.get("touched", 20),
    )
    row = {"kind": "global", "name": "A", "named": True, "file": "/src/a.c", "size": 99}
    found: Any = SimpleNamespace(
        pattern=pattern,
        seen=SimpleNamespace(overlap=Overlap()),
        whole=whole,
        run=run,
        row=row | {"function": "", "line": 0, "instances": 1},
        own_share=known.pop("own", 0.25),
        remote=known.pop("remote", None),
        threads=known.pop("threads", (1, 2)),
        use=SimpleNamespace(
            dominance=known.get("dominance", 0.75),
            evenness=known.pop("dominance", 0.75),
            threads=(1, 2),
            users_per_page=2.0,
        ),
        owner=known.pop("owner", Owner.PROGRAM),
        structure=0,
        name="A",
        touched_at=None,
        touched_as=None,
        used_at=None,
        worked_in=None,
        initial_loop=None,
        in_tasks=False,
        is_dealt_out=False,
        looked_up=False,
        uses_single_entries=False,
        schedule=None,
        region_loop=None,
        is_used_in_call=False,
        foreign=75,
        touched_bytes=99,
        footprint=SimpleNamespace(reuse=1.0),
        **known,
    )
    found.far_from = lambda share: Subject.far_from(found, share)
    found.is_shared_by_all = pattern is Pattern.SHARED
    found.last_read, found.own_instances = None, False
    found.is_shared_by_groups = pattern is Pattern.GROUPS
    return found


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ({"serial": 0.8, "own": 0.75}, True),
        ({"serial": 0.79}, False),
        ({"own": 0.76}, False),
        ({"toucher": None}, False),
        ({"remote": 0.1}, True),
        ({"remote": 0.09}, False),
    ],
)
@pytest.mark.parametrize("pattern", [Pattern.SPLIT, Pattern.PARTS_SHARE_PAGES])
def test_a_serial_first_touch(pattern: Pattern, known: dict[str, Any], found: bool) -> None:
    finding = serial_first_touch.diagnose(subject(pattern, **known))
    assert (finding is not None) is found
    if finding is not None:
        assert (finding.threads, finding.nearer) == ((2,), 75)
        evidence = [known.get("serial", 1.0), 1 - known.get("own", 0.25), 0.75]
        assert [one.value for one in finding.evidence] == evidence
        assert finding.confidence == (0.5 if "serial" in known else 1.0) * 0.75
    assert serial_first_touch.diagnose(subject(Pattern.SHARED, **known)) is None


@pytest.mark.parametrize(
    ("pattern", "known", "found"),
    [
        (Pattern.SPLIT, {"serial": 0.79, "own": 0.75}, True),
        (Pattern.SPLIT, {"serial": 0.79, "own": 0.76}, False),
        (Pattern.SPLIT, {"serial": 0.8}, False),
        (Pattern.PARTS_SHARE_PAGES, {"serial": 0.5}, True),
        (Pattern.ONE_THREAD, {"threads": (2,), "own": 0.5}, True),
        (Pattern.ONE_THREAD, {"threads": (2,), "own": 0.51}, False),
        (Pattern.ONE_THREAD, {"threads": ()}, False),
        (Pattern.SHARED, {"serial": 0.5}, False),
        (Pattern.SPLIT, {"serial": 0.5, "toucher": None}, False),
    ],
)
def test_a_remote_first_touch(pattern: Pattern, known: dict[str, Any], found: bool) -> None:
    finding = remote_first_touch.diagnose(subject(pattern, **known))
    assert (finding is not None) is found
    if finding is not None:
        assert [one.value for one in finding.evidence] == [1 - known.get("own", 0.25), 0.75]
        assert finding.fixes[0].remedy is Remedy.USERS
        assert finding.confidence == pytest.approx(
            {0.75: 0.5, 0.5: 0.5 + 0.5 / 3, 0.25: 0.5 + 1 / 3}[known.get("own", 0.25)]
        )


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ({}, True),
        ({"serial": 0.79}, False),
        ({"serial": 0.8}, True),
        ({"touched": 19}, False),  # its part of 40 pages is 10: twice that is enough
        ({"toucher": None}, False),
        ({"owner": Owner.STACK}, False),
    ],
)
def test_one_first_toucher(known: dict[str, Any], found: bool) -> None:
    finding = one_first_toucher.diagnose(subject(Pattern.SPLIT, **known))
    assert (finding is not None) is found
    if finding is not None:
        assert (finding.threads, finding.nearer, finding.confidence) == ((1,), 8, 0.5)
        assert [one.value for one in finding.evidence] == [known.get("serial", 1.0), 99]


def stack(by_others: int, pattern: Pattern = Pattern.SHARED, **known: Any) -> Any:
    rows = [(0, 1, 100 - by_others, 0), (0, 2, by_others - 9, 4), (0, 0, 0, 5), (1, 2, 99, 9)]
    columns = ["structure", "thread", "reads", "writes"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    return subject(pattern, rows_of_run=table, **known)


def test_a_stack_is_shared_if_others_make_half_of_the_accesses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_stack, "is_cache_resident", lambda one: one.in_tasks)
    assert shared_stack.diagnose(stack(49)) is None
    finding = shared_stack.diagnose(stack(50))
    assert finding is not None
    assert (finding.threads, finding.nearer, finding.confidence) == ((0, 2), 50, 0.5)
    assert "Other threads (threads 0, 2) make 50 % of the accesses to the stack" in finding.why
    assert finding.fixes[0].remedy is Remedy.COPIED
    for pattern in (Pattern.SPLIT, Pattern.PARTS_SHARE_PAGES):
        own = shared_stack.diagnose(stack(50, pattern))
        assert own is not None
        assert own.fixes[0].remedy is Remedy.USERS
    assert shared_stack.diagnose(stack(50, toucher=None)) is None
    # The creator of thread 2 touched its stack first.
    named = stack(50)
    named.name = "Stack#2"
    by_name = shared_stack.diagnose(named)
    assert by_name is not None
    assert (by_name.threads, by_name.nearer) == ((0, 1), 55)
    resident = stack(50)
    resident.in_tasks = True
    assert shared_stack.diagnose(resident) is None


@pytest.mark.parametrize(("written", "read_mostly"), [(0.0, True), (0.01, True), (0.02, False)])
def test_what_all_use_is_read_mostly_or_written(
    monkeypatch: pytest.MonkeyPatch, written: float, read_mostly: bool
) -> None:
    for module in (shared_read_mostly, shared_written):
        monkeypatch.setattr(module, "written_share", lambda _: written)
        monkeypatch.setattr(module, "already_spread", lambda one: one.in_tasks)
    of_all = subject(Pattern.SHARED, dominance=0.625)
    found = [module.diagnose(of_all) for module in (shared_read_mostly, shared_written)]
    assert [one is not None for one in found] == [read_mostly, not read_mostly]
    (finding,) = (one for one in found if one is not None)
    # 1.25 times an even share: 0.5 below the border, of 0.75.
    assert finding.confidence == pytest.approx(0.5 + 0.5 * 0.5 / 0.75)
    assert finding.evidence[2].value == written
    if read_mostly:
        almost = "almost only for reading" in finding.why
        assert almost is (written > 0)
        assert finding.evidence[3].value == 99
    of_all.in_tasks = True
    assert shared_read_mostly.diagnose(of_all) is shared_written.diagnose(of_all) is None


@pytest.mark.parametrize(("own", "found"), [(0.75, True), (0.76, False)])
def test_groups_of_threads_share_pages(
    monkeypatch: pytest.MonkeyPatch, own: float, found: bool
) -> None:
    monkeypatch.setattr(shared_by_groups, "already_spread", lambda one: one.in_tasks)
    monkeypatch.setattr(shared_by_groups, "written_share", lambda _: 0.5)
    monkeypatch.setattr(shared_by_groups, "has_separate_groups", lambda _: True)
    group = subject(Pattern.GROUPS, own=own)
    finding = shared_by_groups.diagnose(group)
    assert (finding is not None) is found
    if finding is not None:
        assert (finding.confidence, finding.nearer) == (0.6, 75)
        assert [one.value for one in finding.evidence] == [2.0, 0.75]
    group.in_tasks = True
    assert shared_by_groups.diagnose(group) is None
    assert shared_by_groups.diagnose(subject(Pattern.SHARED, own=own)) is None


@pytest.mark.parametrize(
    ("to_first", "by_first", "found"), [(75, 60, True), (74, 60, False), (75, 61, False)]
)
def test_one_node_serves_threads_of_several(
    monkeypatch: pytest.MonkeyPatch, to_first: int, by_first: int, found: bool
) -> None:
    monkeypatch.setattr(one_node_serves_all, "is_cache_resident", lambda one: one.resident)
    # Of 100 accesses, `to_first` go to node 7, and threads of node 5 make `by_first`.
    by_other = 100 - by_first
    rows = [(0, 5, 7, to_first - by_other), (1, 6, 7, by_other), (2, 5, 5, 100 - to_first)]
    table = pl.DataFrame(
        rows, schema=["structure", "thread_node", "node", "accesses"], orient="row"
    )
    threads = pl.DataFrame({"thread": [0, 1, 2], "thread_node": [5, 6, 7]})
    nodes = SimpleNamespace(observed=True, traffic=lambda _: table, threads=threads)
    names = pl.DataFrame({"structure": [0, 1, 2], "name": ["A", "B", "C"]})
    subjects = [SimpleNamespace(structure=s, owner=Owner.PROGRAM, resident=False) for s in range(3)]
    run: Any = SimpleNamespace(
        nodes=nodes,
        subjects=subjects,
        work=pl.DataFrame({"structure": [0, 1, 2]}),
        trace=SimpleNamespace(structures=names),
    )
    findings = one_node_serves_all.diagnose(run)
    assert bool(findings) is found
    for finding in findings:
        assert [one.value for one in finding.evidence] == [0.75, 0.6]
        assert "go to the memory of node 7. Threads on 2 nodes make them" in finding.why
        assert finding.why.endswith("Most of these accesses go to B, A.")
        assert (finding.threads, finding.nearer, finding.confidence) == ((0, 1), 100, 0.5)
    nodes.observed = False
    assert one_node_serves_all.diagnose(run) == []
