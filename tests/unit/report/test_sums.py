# SPDX-License-Identifier: Apache-2.0
"""For any trace and any folding of its pages, the sums are those of the trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.analysis.folding import coarsen
from numascape.report import Draft, Report, draft
from numascape.report.build import finish
from numascape.report.fitting import fold_to_cells
from numascape.trace import Trace
from numascape.trace.counting import MEMORY_LINES, has_memory_lines
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern

COUNT = st.integers(0, 1 << 40)


@st.composite
def traces(make: st.DrawFn) -> Pattern:
    pattern = Pattern("p", make(st.integers(1, 5)))
    phases = make(st.integers(1, 4))
    if phases > 1:
        for phase in range(phases):
            pattern.phase(f"phase {phase}", repetitions=make(st.integers(1, 3)))
    for _ in range(make(st.integers(1, 4))):
        instances, pages = make(st.integers(1, 3)), make(st.integers(1, 300))
        s = pattern.structure("s", pages, instances=instances)
        rows = make(
            st.lists(
                st.tuples(
                    st.integers(0, pages - 1),
                    st.integers(0, pattern.threads - 1),
                    st.integers(0, instances - 1),
                    st.integers(0, phases - 1),
                    COUNT,
                    COUNT,
                ),
                min_size=1,
                max_size=20,
                unique_by=lambda row: row[:4],
            )
        )
        touched = set()
        for page, thread, instance, phase, reads, writes in rows:
            where = np.array([page]), np.array([thread])
            pattern.access(
                s, *where, np.array(reads), np.array(writes), instance=instance, phase=phase
            )
            if (instance, page) not in touched:
                pattern.touch(s, *where, instance=instance, phase=phase)
                touched.add((instance, page))
            pattern.used_at(s, "f", page, reads, writes, phase)
    if make(st.booleans()):
        count_lines(pattern)
    return pattern


def count_lines(pattern: Pattern) -> None:
    """A third of the reads and every second write come from memory, where a page is odd."""
    pattern.accesses = [
        table.with_columns(
            memory_lines=(pl.col("reads") // 3) * (pl.col("page") % 2),
            written_lines=(pl.col("writes") // 2) * (pl.col("page") % 2),
        )
        for table in pattern.accesses
    ]


def sums_of_rows(table: pl.DataFrame, entry: Any, phase: int) -> dict[str, int]:
    rows = table.filter(pl.col("structure") == entry.structure, pl.col("phase") == phase)
    if entry.instance >= 0:
        rows = rows.filter(pl.col("instance") == entry.instance)
    counts = rows.select(pl.len().alias("rows"), pl.col("^(reads|writes|.*_lines)$").sum())
    return dict(counts.row(0, named=True))


def check(report: Report, trace: Trace) -> None:
    phases = len(report.phases)
    for position, entry in enumerate(report.structures):
        for phase in range(phases):
            at = position * phases + phase
            cells = slice(*report.cells.begin[at : at + 2])
            expected = sums_of_rows(trace.accesses, entry, phase)
            assert report.cells.reads[cells].sum() == expected["reads"]
            assert report.cells.writes[cells].sum() == expected["writes"]
            for name in MEMORY_LINES:
                lines = getattr(report.cells, name)
                assert (lines is None) == (name not in expected)
                assert lines is None or lines[cells].sum() == expected[name]
            touches = slice(*report.first_touches.begin[at : at + 2])
            assert (
                report.first_touches.pages[touches].sum()
                == sums_of_rows(trace.first_touch, entry, phase)["rows"]
            )
            row = report.cells.row[cells].astype(np.int64)
            order = row * (1 << 32) + report.cells.column[cells]
            assert (np.diff(order) > 0).all()
    for phase, shown in enumerate(report.phases):
        rows = trace.accesses.filter(pl.col("phase") == phase)
        assert (shown.reads, shown.writes) == (rows["reads"].sum(), rows["writes"].sum())


def check_overview(report: Report, trace: Trace) -> None:
    rows = trace.accesses.with_columns(uses=pl.col("reads") + pl.col("writes"))
    total, phases, threads = rows["uses"].sum(), len(report.phases), len(report.threads)
    assert report.traffic.accesses.sum() == total
    assert report.traffic.local.sum() == report.traffic.thread_local.sum()
    assert report.traffic.remote.sum() == report.traffic.thread_remote.sum()
    matrices = report.sharing.accesses.reshape(-1, threads, threads)
    assert len(matrices) == (1 if phases == 1 else 1 + phases)
    assert np.trace(matrices[0]) == total
    if phases > 1:
        by_phase = [rows.filter(pl.col("phase") == p)["uses"].sum() for p in range(phases)]
        assert [np.trace(matrix) for matrix in matrices[1:]] == by_phase
    assert report.lines.reads.sum() == rows["reads"].sum()
    assert report.lines.writes.sum() == rows["writes"].sum()


def check_lines(report: Report, trace: Trace) -> None:
    lines = report.memory_lines
    assert (lines is not None) == has_memory_lines(trace.accesses)
    if lines is None:
        return
    phases, threads = len(report.phases), len(report.threads)
    for phase in range(phases):
        rows = trace.accesses.filter(pl.col("phase") == phase)
        assert lines.fetched[phase] == rows["memory_lines"].sum()
        assert lines.written[phase] == rows["written_lines"].sum()
    rows = trace.accesses.with_columns(lines=pl.col("memory_lines") + pl.col("written_lines"))
    total = rows["lines"].sum()
    assert len(lines.traffic) == len(report.traffic.accesses)
    assert lines.traffic.sum() == total
    assert lines.local.sum() == lines.thread_local.sum()
    assert lines.remote.sum() == lines.thread_remote.sum()
    assert lines.local.sum() + lines.remote.sum() <= total
    assert len(lines.shared) == len(report.sharing.accesses)
    whole = lines.shared[: threads * threads].reshape(threads, threads)
    by_thread = rows.group_by("thread").agg(pl.col("lines").sum())
    assert dict(by_thread.filter(pl.col("lines") > 0).iter_rows()) == {
        thread: lines for thread, lines in enumerate(np.diag(whole).tolist()) if lines
    }


@pytest.mark.slow  # twenty reports, each three times
@given(traces(), st.sampled_from([1, 2, 8, 64]), st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_every_entry_and_phase_adds_up_to_the_trace(
    pattern: Pattern, factor: int, cells: int
) -> None:
    trace = trace_of(pattern)
    started = draft(trace)
    report = finish(started)
    check(report, trace)
    check_overview(report, trace)
    check_lines(report, trace)
    check(finish(widened(started, factor)), trace)
    check(finish(fold_to_cells(started, cells)), trace)


def widened(started: Draft, factor: int) -> Draft:
    positions = range(len(started.structures))
    factors = pl.DataFrame(
        {"position": positions, "factor": [factor] * len(positions)},
        schema={"position": pl.UInt32, "factor": pl.UInt32},
    )
    return type(started)(**{**vars(started), "folded": coarsen(started.folded, factors)})
