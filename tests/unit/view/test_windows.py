# SPDX-License-Identifier: Apache-2.0
"""Windows have the numbers of the trace, at every width, for instances and phases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from numascape.trace import Trace, write_trace
from numascape.trace.counting import MEMORY_LINES
from numascape.view.windows import MAX_COLUMNS, Window, WindowRequest, Windows
from synthetic.pattern import Pattern
from synthetic.patterns import sparse
from synthetic.write import info_of, write_pattern

PAGES = 70_000
PLACES = {("init", "bands.c", 20): 1, ("later", "bands.c", 30): 2}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Three threads' bands in one structure, two instances of another; two phases."""
    pattern = Pattern("bands", 3)
    large = pattern.structure("large", PAGES)
    page = np.arange(PAGES)
    pattern.access(large, page, page % 3, page % 97 + 1, page % 5)
    pattern.access(large, page[::7], (page[::7] + 1) % 3, 0, 3)
    pattern.touch(large, page[: PAGES // 2], 0)
    pattern.touch(large, page[PAGES // 2 :], 2, "later", 30)
    twins = pattern.structure("twins", 40, instances=2)
    for instance in range(2):
        own = np.arange(20) + 20 * instance
        pattern.access(twins, own, np.array(instance), 5 + instance, 1, instance=instance)
        pattern.touch(twins, own, instance, instance=instance)
    tables = pattern.tables()
    phases = tables["phases"]
    later = phases.with_columns(phase=pl.lit(1, pl.UInt32), name=pl.lit("second"))
    tables["phases"] = pl.concat([phases, later])
    tables["accesses"] = tables["accesses"].with_columns(
        phase=(pl.col("page") % 2).cast(pl.UInt32),
        memory_lines=pl.col("reads") // 2,
        written_lines=pl.col("writes") // 3,
    )
    path = tmp_path_factory.mktemp("windows") / "bands.numascape"
    write_trace(path, tables, info_of(pattern.info()))
    return Trace.read(path)


@pytest.fixture
def windows(trace: Trace) -> Windows:
    return Windows(trace, PLACES, np.arange(2, dtype=np.uint32))


def cells(window: Window) -> dict[tuple[int, int], tuple[int, int]]:
    """Reads and writes by thread and the first page of the column."""
    found = window.cells
    start = window.columns.start[found.column]
    return {
        (int(row), int(at)): (int(reads), int(writes))
        for row, at, reads, writes in zip(found.row, start, found.reads, found.writes, strict=True)
    }


def expected(
    trace: Trace, structure: int, first: int, end: int, width: int, *wanted: pl.Expr
) -> dict[tuple[int, int], tuple[int, int]]:
    within = [pl.col("structure") == structure, pl.col("page").is_between(first, end - 1), *wanted]
    sums = (
        trace.accesses.filter(*within)
        .group_by("thread", at=pl.col("page") // width * width)
        .agg(pl.col("reads").sum(), pl.col("writes").sum())
    )
    return {(thread, at): (reads, writes) for thread, at, reads, writes in sums.iter_rows()}


def test_single_pages_are_those_of_the_trace(trace: Trace, windows: Windows) -> None:
    window = windows.answer(WindowRequest(0, None, 12_345, 13_345, 1000))
    assert window.pages_per_column == 1
    assert cells(window) == expected(trace, 0, 12_345, 13_345, 1)
    assert window.columns.start.tolist() == list(range(12_345, 13_345))
    assert set(window.columns.touched.tolist()) == {1}


@pytest.mark.parametrize(("columns", "width"), [(8192, 16), (512, 256), (3, 32_768), (1, 131_072)])
def test_sums_are_exact_at_every_width(
    trace: Trace, windows: Windows, columns: int, width: int
) -> None:
    window = windows.answer(WindowRequest(0, None, 0, PAGES, columns))
    assert window.pages_per_column == width
    assert cells(window) == expected(trace, 0, 0, PAGES, width)
    own = trace.accesses.filter(pl.col("structure") == 0)
    for name in MEMORY_LINES:
        assert int(getattr(window.cells, name).sum()) == own[name].sum()
    assert int(window.columns.pages.sum()) == int(window.columns.touched.sum()) == PAGES
    assert int(window.first_touches.pages.sum()) == PAGES


def test_a_window_covers_whole_columns(trace: Trace, windows: Windows) -> None:
    window = windows.answer(WindowRequest(0, None, 1001, 3001, 512))
    assert window.pages_per_column == 4
    assert cells(window) == expected(trace, 0, 1000, 3004, 4)


def test_first_touches_name_thread_and_place(windows: Windows) -> None:
    half = PAGES // 2
    touches = windows.answer(WindowRequest(0, None, half - 2, half + 3, 8)).first_touches
    assert touches.row.tolist() == [0, 0, 2, 2, 2]
    assert touches.column.tolist() == [0, 1, 2, 3, 4]
    assert touches.place.tolist() == [1, 1, 2, 2, 2]
    coarse = windows.answer(WindowRequest(0, None, half - 8, half + 24, 1)).first_touches
    assert dict(zip(coarse.row.tolist(), coarse.place.tolist(), strict=True)) == {0: 1, 2: 2}


def test_phases_are_chosen(trace: Trace, windows: Windows) -> None:
    second = windows.answer(WindowRequest(0, None, 100, 200, 100, (1,)))
    assert cells(second) == expected(trace, 0, 100, 200, 1, pl.col("phase") == 1)
    coarse = windows.answer(WindowRequest(0, None, 0, PAGES, 64, (1,)))
    assert cells(coarse) == expected(trace, 0, 0, PAGES, 2048, pl.col("phase") == 1)
    both = windows.answer(WindowRequest(0, None, 100, 200, 100, (0, 1)))
    assert cells(both) == expected(trace, 0, 100, 200, 1)


def test_instances_are_one_by_one_or_summed(trace: Trace, windows: Windows) -> None:
    second = windows.answer(WindowRequest(1, 1, 0, 40, 64))
    assert cells(second) == expected(trace, 1, 0, 40, 1, pl.col("instance") == 1)
    assert second.columns.start.tolist() == [0, *range(20, 40)]
    assert second.columns.touched.tolist() == [0, *[1] * 20]
    assert cells(windows.answer(WindowRequest(1, None, 0, 40, 64))) == expected(trace, 1, 0, 40, 1)


def test_gaps_are_one_column_each(tmp_path: Path) -> None:
    trace = write_pattern(sparse(), tmp_path / "sparse.numascape")
    windows = Windows(trace, {}, np.zeros(1, np.uint32))
    window = windows.answer(WindowRequest(0, None, 0, 1 << 28, MAX_COLUMNS))
    assert window.pages_per_column == 1 << 15
    assert int(window.columns.pages.sum()) == 1 << 28
    assert window.columns.touched.tolist() == [4, 0, 4, 0, 4]
    nobody = windows.answer(WindowRequest(1, None, 0, 100, 10))
    assert nobody.columns.pages.tolist() == [100]
    assert nobody.cells.reads.tolist() == []


def test_too_many_cells_make_columns_wider(
    trace: Trace, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numascape.view.windows.MAX_CELLS", 300)
    window = windows.answer(WindowRequest(0, None, 0, 1000, 1000))
    assert window.pages_per_column == 16
    assert cells(window) == expected(trace, 0, 0, 1008, 16)


def test_what_was_sorted_is_dropped_when_there_is_too_much(
    windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numascape.view.windows.KEPT_ROWS", 100_000)
    before = cells(windows.answer(WindowRequest(0, None, 0, 10, 10)))
    windows.answer(WindowRequest(1, None, 0, 10, 10))
    assert list(windows._details) == [(1, None)]
    assert cells(windows.answer(WindowRequest(0, None, 0, 10, 10))) == before


def test_an_interrupt_while_preparing_is_left_to_the_main_thread(
    windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(windows, "_measure", interrupted)
    windows.prepare(0)
    assert list(windows._details) == []
