# SPDX-License-Identifier: Apache-2.0
"""Page cache and segments of shared memory are moved back by what the undo file says of them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from numascape import NumascapeError
from numascape.live.execution import save_undo
from numascape.live.file_cache import cache_move, cached_mapping, mapped_file
from numascape.live.mappings import Mapping, read_mappings
from numascape.live.page_sets import PageSet, PagesToMove, query
from numascape.live.plans import Move
from numascape.live.segments import segments_move
from numascape.live.targets import TargetProcess, target_of
from numascape.live.undo import read_undo
from numascape.live.undoing import moved_back
from numascape.trace.format import PAGE_BYTES

PAGES = 16
ELSEWHERE = 1023
"""A node on which no page is, so that each has to be moved back."""


@pytest.fixture
def own() -> TargetProcess:
    found = target_of(os.getpid())
    assert found is not None
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.write_bytes(b"x" * PAGES * PAGE_BYTES)
    return path


def moved(target: TargetProcess, mapping: Mapping) -> PagesToMove:
    """All pages of a mapping, as if they had been moved from another node."""
    addresses = mapping.start + PAGE_BYTES * np.arange(PAGES, dtype=np.uint64)
    before = np.full(PAGES, ELSEWHERE, np.int32)
    sizes = np.full(PAGES, PAGE_BYTES, np.uint32)
    now = query(target, addresses)
    return PagesToMove((PageSet("part", mapping.path, mapping.inode, PAGE_BYTES, addresses, sizes,
                                before, now),), 0)  # fmt: skip


def page_numbers(back: Move) -> list[int]:
    """The pages that are to be moved back, counted from the start of the file."""
    (pages,) = back.pages.sets
    assert set(pages.wanted.tolist()) == {ELSEWHERE}
    first = next(one.start for one in read_mappings(back.target) if one.start <= pages.addresses[0]
                 < one.end and one.inode == pages.inode)  # fmt: skip
    return [(address - first) // PAGE_BYTES for address in pages.addresses.tolist()]


def of_cache(own: TargetProcess, file: Path, undo: Path) -> Path:
    """The undo file of a move of the file's page cache."""
    with cache_move(file, None, "bind:0") as move:
        (known,) = move.mapped
        mapping = next(one for one in read_mappings(own) if one.start == known.start)
        return save_undo(replace(move, pages=moved(own, mapping)), undo)


def test_page_cache_is_moved_back(own: TargetProcess, file: Path, tmp_path: Path) -> None:
    written = of_cache(own, file, tmp_path / "a.undo")
    undo = read_undo(written)
    assert (undo.target, undo.files[0].path) == (None, str(file.resolve()))
    with mmap.mmap(-1, PAGE_BYTES), moved_back(undo) as back:
        assert back.file == file.resolve()
        assert page_numbers(back) == list(range(PAGES))
    os.truncate(file, PAGES // 2 * PAGE_BYTES)
    with moved_back(undo) as back:
        assert page_numbers(back) == list(range(PAGES // 2))


def test_another_file_of_the_same_name_is_left(
    own: TargetProcess, file: Path, tmp_path: Path
) -> None:
    undo = read_undo(of_cache(own, file, tmp_path / "a.undo"))
    file.rename(tmp_path / "former")
    file.write_bytes(b"y" * PAGES * PAGE_BYTES)
    with pytest.raises(NumascapeError, match="is another file now"), moved_back(undo):
        pass


@pytest.fixture
def segment() -> Iterator[mmap.mmap]:
    with mmap.mmap(-1, PAGES * PAGE_BYTES) as area:
        area[:] = b"x" * len(area)
        yield area


@pytest.mark.skipif(os.geteuid() != 0, reason="opening the file of a segment needs root")
def test_a_segment_is_moved_back_while_its_process_maps_it(
    own: TargetProcess, segment: mmap.mmap, tmp_path: Path
) -> None:
    mapping = next(one for one in read_mappings(own) if one.is_shared and one.is_file
                   and one.end - one.start == len(segment))  # fmt: skip
    link = own.folder / "map_files" / f"{mapping.start:x}-{mapping.end:x}"
    with segments_move(own, [link], "bind:0") as move, cached_mapping(link) as mapped:
        pages = moved(own, mapped)
        known = (mapped_file(mapped, ""),)
        written = save_undo(replace(move, pages=pages, mapped=known), tmp_path / "a.undo")
    undo = read_undo(written)
    assert undo.target == own
    with moved_back(undo) as back:
        assert back.owner == own
        assert page_numbers(back) == list(range(PAGES))
    segment.close()
    with pytest.raises(NumascapeError, match="no longer maps the segment"), moved_back(undo):
        pass
