# SPDX-License-Identifier: Apache-2.0
"""The report's data agrees with the trace, for every width of columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from numascape.analysis.folding import coarsen, limit_columns
from numascape.machine import open_machine
from numascape.report import Draft, Report, draft, from_trace
from numascape.report.build import COLUMNS, finish
from numascape.report.entries import STRUCTURES
from numascape.trace import Trace
from synthetic import patterns
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern

EXAMPLES: dict[str, Callable[[], Pattern]] = {
    "matmul-naive": lambda: patterns.naive_matmul(512, 16),
    "bucketsort": lambda: patterns.bucket_sort(512, 16),
    "seismic-parallel": lambda: patterns.seismic(512, 16, parallel=True),
    "sparse": patterns.sparse,
    "hostile": patterns.hostile,
}


@pytest.fixture(scope="module", params=EXAMPLES)
def trace(request: pytest.FixtureRequest) -> Trace:
    return trace_of(EXAMPLES[request.param]())


def sums(report: Report, trace: Trace) -> None:
    """Compare every sum that the report shows with the trace's tables."""
    by_structure = {
        row["structure"]: row
        for row in trace.accesses.group_by("structure").sum().iter_rows(named=True)
    }
    first = dict(trace.first_touch.group_by("structure").len().iter_rows())
    phases = len(report.phases)
    for position, entry in enumerate(report.structures):
        expected = by_structure.get(entry.structure, {"reads": 0, "writes": 0})
        cells = slice(*report.cells.begin[[position * phases, (position + 1) * phases]])
        touches = slice(*report.first_touches.begin[[position * phases, (position + 1) * phases]])
        columns = slice(*report.columns.begin[position : position + 2])
        assert entry.reads == expected["reads"] == report.cells.reads[cells].sum()
        assert entry.writes == expected["writes"] == report.cells.writes[cells].sum()
        assert report.first_touches.pages[touches].sum() == first.get(entry.structure, 0)
        assert report.columns.touched[columns].sum() == entry.touched_pages
        pages = report.columns.pages[columns].astype(int)
        assert report.columns.start[columns].tolist() == (np.cumsum(pages) - pages).tolist()
        assert pages.sum() == entry.pages


@pytest.fixture(scope="module")
def started(trace: Trace) -> Draft:
    return draft(trace)


def test_sums_are_those_of_the_trace(trace: Trace, started: Draft) -> None:
    sums(finish(started), trace)


@pytest.mark.parametrize("factor", [2, 16, 1024])
def test_sums_stay_when_pages_are_folded_further(trace: Trace, started: Draft, factor: int) -> None:
    positions = range(len(started.structures))
    factors = pl.DataFrame(
        {"position": positions, "factor": [factor] * len(positions)},
        schema={"position": pl.UInt32, "factor": pl.UInt32},
    )
    folded = coarsen(started.folded, factors)
    report = finish(type(started)(**{**vars(started), "folded": folded}))
    sums(report, trace)
    assert {entry.pages_per_column % factor for entry in report.structures} == {0}
    assert any("summed up" in sentence for sentence in report.folded)


def test_cells_are_the_accesses_of_thread_and_page() -> None:
    trace = trace_of(patterns.naive_matmul(256, 4))
    report = from_trace(trace)
    position = [entry.name for entry in report.structures].index("B")
    cells = slice(*report.cells.begin[position : position + 2])
    thread_3 = report.cells.row[cells] == 3
    # Thread 3 reads its 64 columns of 2 rows per page, for each of 256 rows of A.
    assert report.cells.reads[cells][thread_3].tolist() == [2 * 64 * 256] * 128
    assert report.cells.column[cells][thread_3].tolist() == list(range(128))


def test_columns_are_fine_where_pages_were_touched() -> None:
    trace = trace_of(patterns.sparse())
    report = from_trace(trace)
    columns = slice(*report.columns.begin[:2])
    start, touched = report.columns.start[columns], report.columns.touched[columns]
    islands = [*range(4), *range(1 << 20, (1 << 20) + 4), *range((1 << 28) - 4, 1 << 28)]
    assert start[touched > 0].tolist() == islands
    assert (touched == 0).sum() == 2  # the two gaps, one column each


def test_a_large_structure_has_a_bounded_number_of_columns() -> None:
    trace = trace_of(patterns.many_pages(100_000, 8))
    report = from_trace(trace)
    sums(report, trace)
    assert report.structures[0].pages_per_column == 32
    assert COLUMNS / 2 < len(report.columns.start) <= COLUMNS
    assert "columns of up to 32 pages" in report.folded[0]


def test_instances_of_a_structure_are_summed_by_page() -> None:
    pattern = Pattern("p", 2)
    s = pattern.structure("buffer", 4, instances=3)
    for instance in range(3):
        pattern.access(s, np.arange(4), np.array(1), 10, 1, instance=instance)
        pattern.touch(s, np.arange(4), instance % 2, instance=instance)
    report = from_trace(trace_of(pattern))
    assert report.cells.reads[: report.cells.begin[1]].tolist() == [30] * 4
    assert report.columns.touched[:4].tolist() == [1] * 4
    assert report.first_touches.pages[:8].tolist() == [2] * 4 + [1] * 4
    assert report.structures[0].touched_pages == 12


def test_phases_have_cells_of_their_own() -> None:
    pattern = Pattern("p", 1)
    s = pattern.structure("A", 2)
    for name in ("run", "second"):
        pattern.access(s, np.arange(2), np.array(0), 5, 0, phase=pattern.phase(name))
    pattern.touch(s, np.arange(2), 0)
    report = from_trace(trace_of(pattern))
    assert report.cells.begin.tolist() == [0, 2, 4]
    assert report.cells.reads.tolist() == [5, 5, 5, 5]
    assert [(phase.name, phase.reads) for phase in report.phases] == [("run", 10), ("second", 10)]
    assert (report.structures[0].reads, report.structures[0].threads) == (20, 1)


def test_first_touch_places_are_named() -> None:
    trace = trace_of(patterns.seismic(64, 4, parallel=True))
    report = from_trace(trace)
    places = report.places
    assert (places.function[0], places.file[0], places.line[0]) == ("", "", 0)
    touches = slice(*report.first_touches.begin[:2])
    named = {places.function[i] for i in report.first_touches.place[touches]}
    assert named == {"initialise_grid"}


@pytest.mark.slow  # large
def test_the_least_used_structures_are_left_out_and_counted() -> None:
    pattern = Pattern("p", 1)
    for i in range(STRUCTURES + 50):
        s = pattern.structure(f"s{i}", 1)
        pattern.access(s, np.array(0), np.array(0), 1000 if i < STRUCTURES else 1, 0)
        pattern.touch(s, np.array([0]), 0)
    report = from_trace(trace_of(pattern))
    assert len(report.structures) == STRUCTURES
    assert report.folded[-1].startswith("50 more structures are left out")
    assert report.run["reads"] == STRUCTURES * 1000 + 50


def test_what_comes_from_memory_is_shown_however_few_accesses_go_to_it() -> None:
    pattern = Pattern("p", 1)
    page = np.arange(1000)
    hot = pattern.structure("hot", 1000)
    pattern.access(hot, page, 0, 10_000_000, 0)
    streamed = pattern.structure("streamed", 1000)
    pattern.access(streamed, page, 0, 64, 0)
    for s in (hot, streamed):
        pattern.touch(s, page, 0)
    pattern.accesses = [
        table.with_columns(
            memory_lines=pl.lit(lines, pl.UInt64), written_lines=pl.lit(0, pl.UInt64)
        )
        for table, lines in zip(pattern.accesses, (1, 64), strict=True)
    ]
    report = from_trace(trace_of(pattern))
    assert [entry.name for entry in report.structures] == ["hot", "streamed"]
    assert [entry.pages_per_column for entry in report.structures] == [1, 1]
    assert report.memory_lines is not None
    assert report.memory_lines.fetched.tolist() == [65_000]


def test_names_lose_what_misleads() -> None:
    report = from_trace(trace_of(patterns.hostile()))
    names = {entry.name for entry in report.structures}
    assert "\\u202egnp.exe\\x00\\x1b[31m" in names
    assert patterns.HOSTILE[0] in names  # unchanged: the page inserts it as text
    assert max(map(len, names)) == len(patterns.HOSTILE[-1]) > 10_000


def test_limits_that_are_met_change_nothing() -> None:
    started = draft(trace_of(patterns.bucket_sort(64, 4)))
    limits = pl.DataFrame(
        {"position": range(len(started.structures))}, schema={"position": pl.UInt32}
    ).with_columns(limit=pl.lit(COLUMNS))
    assert limit_columns(started.folded, limits) is started.folded


def test_progress_is_told_for_the_pages_and_each_machine() -> None:
    trace = trace_of(patterns.bucket_sort(64, 4))
    told: list[tuple[int, int]] = []
    others = [open_machine("numa16"), open_machine("numa32")]
    started = draft(trace, others=others, progress=lambda *steps: told.append(steps))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len(started.elsewhere) == 2
