# SPDX-License-Identifier: Apache-2.0
"""A page shows a limited number of phases and spans; combined ones keep their sums."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest

from numascape.report import Report, draft, from_trace
from numascape.report.build import finish
from numascape.report.fitting import LEVELS, encode_within
from numascape.report.phases import PHASES, SPANS
from numascape.trace import Trace
from synthetic import patterns
from synthetic.in_memory import trace_of
from synthetic.page import column, decode
from synthetic.pattern import Pattern


def stepping(names: list[str], line: int = 0) -> Pattern:
    """In phase i, thread 0 alone reads page i of A, i + 1 times."""
    pattern = Pattern("p", 2)
    s = pattern.structure("A", len(names))
    for i, name in enumerate(names):
        pattern.phase(name, line=line and line + i)
        pattern.access(s, np.array(i), np.array(0), i + 1, 0, phase=i)
        pattern.touch(s, np.array([i]), 0, phase=i)
    return pattern


def reads(report: Report) -> list[int]:
    begin = report.cells.begin
    count = len(report.phases)
    return [int(report.cells.reads[begin[p] : begin[p + 1]].sum()) for p in range(count)]


def test_without_phases_there_is_one() -> None:
    report = from_trace(trace_of(patterns.naive_matmul(256, 4)))
    assert [phase.name for phase in report.phases] == ["run"]
    assert report.phases[0].reads == report.run["reads"]
    assert report.spans.phase.tolist() == [0]
    assert (report.spans.start.tolist(), report.spans.end.tolist()) == ([0], [2_100_000])


def test_the_least_used_of_many_phases_become_one() -> None:
    pattern = stepping([f"region {i}" for i in range(100)], line=10)
    report = from_trace(trace_of(pattern))
    assert len(report.phases) == PHASES
    assert [p.name for p in report.phases] == [f"region {i}" for i in range(37, 100)] + [
        "other phases"
    ]
    assert reads(report) == [*range(38, 101), sum(range(38))]
    assert report.phases[-1].repetitions == 37
    assert "The 37 least used phases are shown as one" in report.folded[-1]


@pytest.mark.parametrize("others", [0, 2])
def test_neighbouring_time_slices_become_one(others: int) -> None:
    dash = "\N{EN DASH}"
    names = [f"mark {i}" for i in range(others)]
    names += [f"{i}.0{dash}{i + 1}.0 s" for i in range(200)]
    report = from_trace(trace_of(stepping(names)))
    assert len(report.phases) <= PHASES
    assert [p.name for p in report.phases[:others]] == names[:others]
    assert report.phases[others].name == f"0.0{dash}4.0 s"
    assert report.phases[-1].name.endswith(f"{dash}200.0 s")
    assert reads(report)[others] == sum(range(others + 1, others + 5))
    assert sum(reads(report)) == sum(range(len(names) + 1))
    assert [span for span in np.diff(report.spans.start.astype(int)) if span < 0] == []


def test_many_spans_are_sampled_by_what_took_most_of_the_time() -> None:
    pattern = stepping(["long", "short"])
    period, count = 1_000_000, 20_000
    pattern.spans = []
    for i in range(count):
        begin = i * period
        pattern.spans.append((0, begin, begin + 900_000))
        pattern.spans.append((1, begin + 900_000, begin + period))
    # In the second half of the time, the order is reversed.
    pattern.spans[count:] = [(1 - p, b, e) for p, b, e in pattern.spans[count:]]
    spans = from_trace(trace_of(pattern)).spans
    assert len(spans.phase) <= SPANS
    total = [
        int((spans.end - spans.start)[spans.phase == phase].sum()) / (count * period / 1000)
        for phase in (0, 1)
    ]
    assert total == pytest.approx([0.5, 0.5], abs=0.01)
    assert spans.phase[0] == 0
    assert spans.phase[-1] == 1


@pytest.mark.slow  # large
def test_every_level_keeps_the_sums() -> None:
    trace = trace_of(patterns.many_phases(8, 70, 64))
    started = draft(trace)
    assert started.again is not None
    for limits in LEVELS:
        report = finish(started.again(limits))
        assert len(report.phases) == min(64, limits.phases)
        assert report.cells.reads.sum() == trace.accesses["reads"].sum()
        assert report.lines.reads.sum() == trace.source_lines["reads"].sum()
        expected = (trace.accesses["reads"] + trace.accesses["writes"]).sum()
        assert report.traffic.accesses.sum() == expected
        groups = report.sharing.groups
        assert np.trace(report.sharing.accesses[: groups**2].reshape(groups, groups)) == expected
        assert report.first_touches.pages.sum() == trace.first_touch.height


@pytest.fixture(scope="module")
def noisy() -> Trace:
    """Random counts of every thread on every page in every phase: they compress badly."""
    pattern, random = Pattern("noise", 32), np.random.default_rng(3)
    page, thread = np.arange(64)[None, :], np.arange(32)[:, None]
    s = [pattern.structure(f"s{i}", 64, instances=2) for i in range(4)]
    for step in range(16):
        phase = pattern.phase(f"step {step}", line=step + 1)
        for structure in s:
            counts = random.integers(1, 1 << 40, (32, 64))
            pattern.access(structure, page, thread, counts, 0, instance=step % 2, phase=phase)
    for structure in s:
        for instance in (0, 1):
            pattern.touch(structure, page, random.integers(0, 32, (1, 64)), instance=instance)
    return trace_of(pattern)


@pytest.mark.slow  # large
@pytest.mark.parametrize(("budget", "phases"), [(900_000, 16), (250_000, 8), (60_000, 1)])
def test_phases_are_folded_when_columns_are_not_enough(
    noisy: Trace, budget: int, phases: int
) -> None:
    started = draft(noisy)
    marked = dataclasses.replace(started, run={**started.run, "detail_url": "detail"})
    text, shown = encode_within(marked, budget)
    assert len(text) <= budget
    assert len(shown.phases) == phases
    report, planes = decode(text)
    assert report["run"]["detail_url"] == "detail"  # as in a page that is served
    assert len(report["phases"]) == phases
    begin = column(planes, report["cells"]["begin"])
    whole = [entry["instance"] for entry in report["structures"]].count(-1)
    cells = column(planes, report["cells"]["reads"])[: begin[whole * phases]]
    assert sum(cells) == noisy.accesses["reads"].sum()


def test_threads_beyond_the_matrix_are_grouped() -> None:
    trace = trace_of(patterns.many_threads(300, 300, 64))
    sharing = from_trace(trace).sharing
    assert (sharing.groups, sharing.group.tolist()) == (100, [t // 3 for t in range(300)])
    by_group = (
        trace.accesses.group_by("structure", "page", pl.col("thread") // 3)
        .agg(uses=(pl.col("reads") + pl.col("writes")).sum())
        .pivot("thread", index=["structure", "page"], values="uses")
        .fill_null(0)
    )
    expected = np.minimum(by_group["5"].to_numpy(), by_group["42"].to_numpy()).sum()
    assert sharing.accesses.reshape(100, 100)[5, 42] == expected > 0
    assert sharing.accesses.reshape(100, 100)[42, 5] == expected
