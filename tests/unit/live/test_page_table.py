# SPDX-License-Identifier: Apache-2.0
"""Pages in memory are read from copies of pagemap, and are right for this process."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from numascape._native import live
from unit.live.conftest import pagemap

PAGE = 4096
ASK = (1 << 64) - 1
PRESENT, SWAPPED, OF_FILE = 1 << 63, 1 << 62, 1 << 61


def runs(path: Path, first: int, end: int) -> list[tuple[int, int, int]]:
    found = live.page_runs(str(path), first * PAGE, end * PAGE)
    columns = (found[name].tolist() for name in ("start", "end", "flags"))
    return [(start // PAGE, end // PAGE, flags) for start, end, flags in zip(*columns, strict=True)]


def test_runs_of_equal_pages_are_found(tmp_path: Path) -> None:
    entries = {16: PRESENT, 17: PRESENT, 18: PRESENT | OF_FILE, 20: SWAPPED, 300_000: PRESENT}
    path = pagemap(tmp_path / "pagemap", entries)
    found = [(16, 18, 0), (18, 19, live.FILE), (20, 21, live.SWAPPED), (300_000, 300_001, 0)]
    assert runs(path, 0, 300_500) == found
    assert runs(path, 17, 20) == [(17, 18, 0), (18, 19, live.FILE)]


def test_a_pagemap_that_ends_early_ends_the_search(tmp_path: Path) -> None:
    path = pagemap(tmp_path / "pagemap", {3: PRESENT})
    assert runs(path, 0, 1 << 30) == [(3, 4, 0)]
    empty = tmp_path / "empty"
    empty.touch()
    assert runs(empty, 0, 100) == []


@pytest.mark.parametrize(("start", "end", "size"), [(1, 4096, 4096), (8192, 4096, 4096),
                                                    (0, 4096, 0), (0, 4096, 100)])  # fmt: skip
def test_what_is_no_range_of_pages_is_refused(start: int, end: int, size: int) -> None:
    with pytest.raises(ValueError, match="not a range"):
        live.list_pages(os.getpid(), "/proc/self/pagemap", start, end, size)


def test_a_missing_process_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        live.page_runs("/proc/0/pagemap", 0, PAGE)
    with pytest.raises(ProcessLookupError):
        live.query_nodes((1 << 22) - 1, np.array([PAGE], np.uint64))


@pytest.fixture
def memory() -> mmap.mmap:
    """64 pages, of which this process has touched every third."""
    area = mmap.mmap(-1, 64 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(0, 64, 3):
        area[page * PAGE] = 1
    return area


def start_of(area: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(area))


def test_only_touched_pages_are_in_memory(memory: mmap.mmap) -> None:
    start = start_of(memory)
    found = live.list_pages(os.getpid(), "/proc/self/pagemap", start, start + len(memory), PAGE)
    touched = [start + page * PAGE for page in range(0, 64, 3)]
    assert found["address"].tolist() == touched
    assert min(found["node"].tolist()) >= 0
    assert set(found["flags"].tolist()) == {0}
    # Reading has touched no page.
    again = live.page_runs("/proc/self/pagemap", start, start + len(memory))
    assert again["start"].tolist() == touched


def test_parts_are_counted_apart(memory: mmap.mmap) -> None:
    start = start_of(memory)
    middle, end = start + 6 * PAGE, start + 64 * PAGE
    parts = np.array([(start, middle, PAGE, 0, ASK), (middle, end, PAGE, 0, ASK)], np.uint64)
    found = live.count_pages(os.getpid(), "/proc/self/pagemap", parts, threads=3, every=1)
    by_part = [int(found["bytes"][found["part"] == part].sum()) for part in range(2)]
    assert by_part == [2 * PAGE, 20 * PAGE]


def test_cells_have_the_pages_at_their_places() -> None:
    """Every other cell is touched: 64 cells' worth of pages, in the 32 that a part has at most."""
    area = mmap.mmap(-1, 32 * 4 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for cell in range(0, 32, 2):
        area[cell * 4 * PAGE] = area[(cell * 4 + 3) * PAGE] = 1
    start = start_of(area)
    parts = np.array(
        [(start, start + len(area), PAGE, 0, ASK), (start, start + PAGE, PAGE, 0, ASK)], np.uint64
    )
    found = live.count_pages(os.getpid(), "/proc/self/pagemap", parts, threads=2, every=1)
    cells = found["cells"]
    assert cells["cell_bytes"].tolist() == [4 * PAGE, PAGE]
    assert cells["part"].tolist() == [0] * 16 + [1]
    assert cells["cell"].tolist() == [*range(0, 32, 2), 0]
    assert set(cells["bytes"].tolist()) == {2 * PAGE, PAGE}
    assert int(cells["bytes"].sum()) == int(found["bytes"].sum())


def test_what_is_known_is_not_asked_for(memory: mmap.mmap) -> None:
    """The kernel has no node 7, so the node cannot be its answer."""
    start = start_of(memory)
    for kind, flags in ((0, 0), (1, 0), (2, live.FILE)):
        parts = np.array([(start, start + 64 * PAGE, PAGE, kind, 7)], np.uint64)
        found = live.count_pages(os.getpid(), "/proc/self/pagemap", parts, threads=1, every=1)
        assert found["node"].tolist() == found["cells"]["node"][:1].tolist() == [7]
        assert (found["flags"].tolist(), found["bytes"].tolist()) == ([flags], [22 * PAGE])


def test_sampled_windows_stand_for_all(tmp_path: Path) -> None:
    window = 512
    whole = 64 * window
    area = mmap.mmap(-1, whole * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    area.write(b"x" * len(area))
    start = start_of(area)
    parts = np.array([(start, start + len(area), PAGE, 0, ASK)], np.uint64)
    for every in (1, 2, 4, 16):
        found = live.count_pages(os.getpid(), "/proc/self/pagemap", parts, threads=1, every=every)
        # All pages are in memory, so every window has the same number.
        assert int(found["bytes"].sum()) == len(area), every
        # Each cell has at least one examined window.
        cells = found["cells"]
        (size,) = cells["cell_bytes"].tolist()
        assert set(cells["bytes"].tolist()) == {size}, every
        assert cells["cell"].tolist() == list(range(len(area) // size)), every
