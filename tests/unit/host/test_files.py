# SPDX-License-Identifier: Apache-2.0
"""Pages of files are counted without reading them, and only clean pages of own files leave."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numascape.host.experiment import cached_file
from numascape.host.files import evict, look_at, regular_files
from numascape.host.node_memory import KERNEL_PAGE_BYTES
from numascape.host.triads import Worker, summarised


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A file of 64 pages, all clean and in memory."""
    path = tmp_path / "written"
    with path.open("wb") as file:
        file.write(os.urandom(64 * KERNEL_PAGE_BYTES))
        file.flush()
        os.fsync(file.fileno())
    return path


@pytest.mark.program
def test_pages_in_memory_are_counted_by_node(written: Path) -> None:
    (file,) = look_at([written])
    assert (file.size, file.resident) == (64 * KERNEL_PAGE_BYTES, 64)
    assert file.nodes is not None
    assert sum(file.nodes.values()) == 64


@pytest.mark.program
def test_looking_reads_nothing_in(written: Path) -> None:
    done = evict([written], None)
    if done.kept:
        pytest.skip("this file system keeps its pages")
    assert sum(done.freed.values()) == 64
    for _ in range(2):
        (file,) = look_at([written])
        assert (file.resident, file.nodes) == (0, {})
    with written.open("rb", buffering=0) as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        opened.seek(9 * KERNEL_PAGE_BYTES)
        opened.read(1)
    (file,) = look_at([written])
    assert file.resident == sum((file.nodes or {}).values()) == 1


@pytest.mark.program
def test_files_of_others_are_left_alone(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: written.stat().st_uid + 1)
    done = evict([written], None)
    assert (done.files, done.foreign) == (0, 1)
    monkeypatch.undo()
    (file,) = look_at([written])
    assert file.resident == 64


@pytest.mark.program
def test_only_regular_files_are_looked_at(tmp_path: Path, written: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(written)
    (tmp_path / "loop").symlink_to(tmp_path)
    strange = tmp_path / "new\nline"
    strange.write_bytes(b"x")
    assert set(regular_files([tmp_path])) == {written, strange}
    pipe, gone, named = look_at([tmp_path / "pipe", tmp_path / "gone", strange])
    assert (pipe.error, gone.error) == ("Invalid argument", "No such file or directory")
    assert (named.error, named.size) == (None, 1)


def test_the_experiments_file_has_no_name(tmp_path: Path) -> None:
    with cached_file(tmp_path, 3 * KERNEL_PAGE_BYTES, 0):
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_sample_is_as_slow_as_its_slowest_worker_saw_it() -> None:
    triad = summarised(
        [Worker(0, 0, (10.0, 90.0), {0: 6, 1: 2}), Worker(1, 1, (50.0, 20.0), {1: 8})]
    )
    assert triad.mflops == (10.0, 20.0)
    assert triad.pages == {0: 6, 1: 10}
    assert triad.local_share == 14 / 16
