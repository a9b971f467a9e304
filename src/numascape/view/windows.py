# SPDX-License-Identifier: Apache-2.0
"""Computes windows: a part of one structure in the detail that a screen can show.

At the first request for a structure, its accesses are sorted by page and summed over blocks of STEP
pages, STEP^2 pages, ... Each answer then reads only a few entries per column, for any size of the
structure.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.page_columns import Column
from numascape.trace import Trace
from numascape.trace.counting import count_columns

STEP = 8
"""So many blocks of one level are summed up to one block of the next level."""
MAX_COLUMNS = 8192
MAX_CELLS = 4_000_000
"""Maximum number of columns times threads of an answer; with more, the columns are wider."""
KEPT_ROWS = 50_000_000
"""Maximum number of rows of sorted tables that are kept for further windows."""

SourcePlace = tuple[str, str, int]
PageOffsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WindowRequest:
    """Pages [first, end) of a structure or of one instance, in at most `columns` columns.

    `phases` are those whose accesses are summed; None is all of them.
    """

    structure: int
    instance: int | None
    first: int
    end: int
    columns: int
    phases: tuple[int, ...] | None = None


@dataclass(frozen=True)
class WindowColumns:
    """Ascending runs of pages, as in the report; `touched` is 0 for untouched pages."""

    start: Column
    pages: Column
    touched: Column


@dataclass(frozen=True)
class WindowCells:
    """Accesses by thread (`row`) and column, sorted by both; cache lines as in the report."""

    row: Column
    column: Column
    reads: Column
    writes: Column
    memory_lines: Column | None = None
    written_lines: Column | None = None


@dataclass(frozen=True)
class WindowTouches:
    """First touched pages by thread and column; `place` is the report's place of most of them."""

    row: Column
    column: Column
    pages: Column
    place: Column


@dataclass(frozen=True)
class Window:
    """An answer; its columns cover the request, extended to a multiple of their width."""

    pages_per_column: int
    columns: WindowColumns
    cells: WindowCells
    first_touches: WindowTouches


@dataclass(frozen=True)
class _Level:
    """Sums over blocks of `width` pages, sorted by block; `counts` are those of WindowCells."""

    width: int
    block: Column
    thread: Column
    phase: Column
    counts: tuple[Column, ...]
    first_block: Column
    first_thread: Column
    first_phase: Column
    first_place: Column
    first_pages: Column


@dataclass(frozen=True)
class _Detail:
    """One structure or instance: its levels, from single pages up, and its touched pages."""

    levels: tuple[_Level, ...]
    touched: Column
    pages: int

    @property
    def rows(self) -> int:
        """Rows of all levels."""
        return sum(len(level.block) + len(level.first_block) for level in self.levels)


class Windows:
    """Computes windows of a trace's structures; thread-safe.

    `places` are those of the report; `phase_of` is the report's phase for each phase of the trace.
    """

    def __init__(self, trace: Trace, places: dict[SourcePlace, int], phase_of: Column) -> None:
        self._trace = trace
        self._places = places
        self._phase_of = phase_of
        self._details: OrderedDict[tuple[int, int | None], _Detail] = OrderedDict()
        self._lock = Lock()

    def answer(self, wanted: WindowRequest) -> Window:
        """Return the window; `wanted` must be valid, with at least one page and one column."""
        detail = self._detail(wanted.structure, wanted.instance)
        width = 1
        while -(-wanted.end // width) - wanted.first // width > wanted.columns:
            width *= 2
        threads = self._trace.threads.height
        while (window := _window(detail, wanted, width, threads)) is None:
            width *= 2
        return window

    def prepare(self, structure: int) -> None:
        """Sort the pages of a structure, so that its first window is also fast.

        Runs in its own thread.
        """
        # Polars raises Ctrl-C in any thread in which it works, not only in the main thread.
        with suppress(KeyboardInterrupt):
            self._detail(structure, None)

    def _detail(self, structure: int, instance: int | None) -> _Detail:
        key = (structure, instance)
        with self._lock:
            if key not in self._details:
                self._details[key] = self._measure(structure, instance)
            self._details.move_to_end(key)
            detail = self._details[key]
            while len(self._details) > 1 and self._rows() > KEPT_ROWS:
                self._details.popitem(last=False)
            return detail

    def _rows(self) -> int:
        return sum(detail.rows for detail in self._details.values())

    def _measure(self, structure: int, instance: int | None) -> _Detail:
        chosen = pl.col("structure") == structure
        if instance is not None:
            chosen &= pl.col("instance") == instance
        counts = count_columns(self._trace.accesses)
        accesses = self._trace.accesses.lazy().filter(chosen).select(
            "page", "thread", self._phase(), *counts
        ).collect()  # fmt: skip
        first = self._first_touches(chosen)
        touched = pl.concat([accesses["page"], first["page"]]).unique().sort()
        pages = int(self._trace.structures.item(structure, "pages"))
        levels = [_level(1, _by_page(accesses), _by_page(first))]
        while levels[-1].width * MAX_COLUMNS < pages:
            accesses = _coarser(accesses, ["page", "thread", "phase"], counts)
            first = _coarser(first, ["page", "thread", "phase", "place"], ["pages"])
            levels.append(_level(levels[-1].width * STEP, accesses, first))
        return _Detail(tuple(levels), touched.to_numpy(), pages)

    def _phase(self) -> pl.Expr:
        if len(self._phase_of) == 1:
            return pl.lit(0, pl.UInt32).alias("phase")
        shown = pl.Series(self._phase_of)
        return pl.col("phase").map_batches(lambda ids: shown.gather(ids), pl.UInt32)

    def _first_touches(self, chosen: pl.Expr) -> pl.DataFrame:
        table = self._trace.first_touch.lazy()
        # Traces of earlier versions do not contain the phase of a first touch.
        known = "phase" in self._trace.first_touch.columns
        table = table.filter(chosen).with_columns(
            self._phase() if known else pl.lit(0, pl.UInt32).alias("phase")
        )
        first = table.select("page", "thread", "phase", *_PLACE).collect()
        # One place usually touches many successive pages: look names up only where they change.
        same = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in _PLACE)
        fresh = first.select((~same).fill_null(value=True)).to_series()
        named = first.select(_PLACE).filter(fresh).iter_rows()
        numbers = pl.Series([self._places.get(place, 0) for place in named], dtype=pl.UInt32)
        place = numbers.gather(fresh.cum_sum() - 1) if len(first) else numbers
        return first.select(
            "page", "thread", "phase", place.alias("place"), pages=pl.lit(1, pl.UInt32)
        )


_PLACE = ["function", "file", "line"]


def _by_page(frame: pl.DataFrame) -> pl.DataFrame:
    return frame if frame["page"].is_sorted() else frame.sort("page")


def _coarser(frame: pl.DataFrame, columns: list[str], summed: list[str]) -> pl.DataFrame:
    """Sums over blocks of STEP blocks, sorted by block."""
    blocks = frame.lazy().with_columns(pl.col("page") // STEP)
    return blocks.group_by(columns).agg(pl.col(summed).sum()).sort("page").collect()


def _level(width: int, accesses: pl.DataFrame, first: pl.DataFrame) -> _Level:
    page, thread, phase = (accesses[name].to_numpy() for name in ("page", "thread", "phase"))
    counts = tuple(accesses[name].to_numpy() for name in count_columns(accesses))
    touched = [first[name].to_numpy() for name in ("page", "thread", "phase", "place", "pages")]
    return _Level(width, page, thread, phase, counts, *touched)


def _window(
    detail: _Detail, wanted: WindowRequest, width: int, threads_of_run: int
) -> Window | None:
    """The window in columns of `width` pages; None if it has too many cells."""
    level = max((one for one in detail.levels if one.width <= width), key=lambda one: one.width)
    begin, end = wanted.first // width, -(-wanted.end // width)
    blocks = end - begin
    scale = width // level.width
    accesses = _rows_within(level.block, level.phase, begin * scale, end * scale, wanted.phases)
    first = _rows_within(
        level.first_block, level.first_phase, begin * scale, end * scale, wanted.phases
    )
    seen = np.zeros(threads_of_run, bool)
    seen[level.thread[accesses]] = True
    seen[level.first_thread[first]] = True
    threads = np.flatnonzero(seen)
    if blocks > 1 and len(threads) * blocks > MAX_CELLS:
        return None
    edges = np.arange(begin, end + 1) * width
    touched = np.diff(np.searchsorted(detail.touched, _as_pages(edges)))
    columns, column_of = _columns(edges, touched, detail.pages)
    size = len(threads) * blocks
    rank = np.cumsum(seen) - 1

    def cells_of(thread: Column, block: Column) -> PageOffsets:
        return rank[thread] * blocks + (block.astype(np.int64) // scale - begin)

    cell = cells_of(level.thread[accesses], level.block[accesses])
    sums = [np.bincount(cell, count[accesses], size) for count in level.counts]
    used = np.flatnonzero(np.sum(sums, axis=0))
    cells = WindowCells(
        *_places_of(used, threads, blocks, column_of),
        *(summed[used].astype(np.uint64) for summed in sums),
    )
    cell = cells_of(level.first_thread[first], level.first_block[first])
    touches = _touches(cell, level.first_place[first], level.first_pages[first], size)
    by_first = WindowTouches(
        *_places_of(touches[0], threads, blocks, column_of), touches[1], touches[2]
    )
    return Window(width, columns, cells, by_first)


def _rows_within(
    block: Column, phase: Column, begin: int, end: int, phases: tuple[int, ...] | None
) -> PageOffsets | slice:
    # Use the type of `block`; otherwise the search would first convert the whole column.
    low, high = np.searchsorted(block, _as_pages([begin, end]))
    if phases is None:
        return slice(int(low), int(high))
    within: PageOffsets = low + np.flatnonzero(np.isin(phase[low:high], phases))
    return within


def _as_pages(numbers: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    # A structure has less than 2^32 pages, but a column may reach beyond.
    return np.minimum(numbers, 0xFFFF_FFFF).astype(np.uint32)


def _columns(edges: PageOffsets, touched: Any, pages: int) -> tuple[WindowColumns, PageOffsets]:
    """One column per touched block and per run of untouched blocks; and each block's column."""
    is_start = np.empty(len(touched), bool)
    is_start[0] = True
    is_start[1:] = (touched[1:] > 0) | (touched[:-1] > 0)
    start = edges[:-1][is_start]
    length = np.diff(np.append(start, min(int(edges[-1]), max(pages, int(edges[0]) + 1))))
    columns = WindowColumns(
        start.astype(np.uint64), length.astype(np.uint64), touched[is_start].astype(np.uint64)
    )
    return columns, np.cumsum(is_start) - 1


def _places_of(
    cells: PageOffsets, threads: PageOffsets, blocks: int, column_of: PageOffsets
) -> tuple[Column, Column]:
    row: Column = threads[cells // blocks].astype(np.uint32)
    column: Column = column_of[cells % blocks].astype(np.uint32)
    return row, column


def _touches(
    cell: PageOffsets, place: Column, pages: Column, size: int
) -> tuple[PageOffsets, Column, Column]:
    """The cells with first touches, their pages, and the place of most of these pages."""
    total = np.bincount(cell, pages, size)
    used = np.flatnonzero(total)
    places = int(place.max(initial=0)) + 1
    pairs, of_pair = np.unique(cell * places + place.astype(np.int64), return_inverse=True)
    by_pair = np.bincount(of_pair, pages, len(pairs))
    dominant = np.zeros(size, np.int64)
    ascending = np.argsort(by_pair, kind="stable")
    dominant[pairs[ascending] // places] = pairs[ascending] % places
    return used, total[used].astype(np.uint64), dominant[used].astype(np.uint32)
