# SPDX-License-Identifier: Apache-2.0
"""Undo files have the state before, belong to one process, and are checked when they are read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numascape import NumascapeError
from numascape.live.affinity import ThreadMove
from numascape.live.mappings import Mapping
from numascape.live.page_sets import PageSet
from numascape.live.targets import TargetProcess
from numascape.live.undo import check_undo_place, read_undo, still_there, write_undo
from unit.live.conftest import PID, STARTED, stat_line

PAGE = 4096
START = 0x7F0000000000


def page_set(path: str = "", inode: int = 0) -> PageSet:
    addresses = np.array([START, START + 2 * PAGE, START + 512 * PAGE], np.uint64)
    sizes = np.array([PAGE, PAGE, 512 * PAGE], np.uint32)
    nodes = [np.array(values, np.int32) for values in ([0, 1, 0], [1, 0, 1])]
    return PageSet("a", path, inode, PAGE, addresses, sizes, *nodes)


@pytest.fixture
def written(target: TargetProcess, tmp_path: Path) -> Path:
    path = tmp_path / "a.undo"
    threads = [ThreadMove(PID, "server", STARTED, (0, 3), (1,))]
    write_undo(path, target, [page_set()], threads, shared=True)
    return path


def test_pages_and_threads_are_put_back(
    written: Path, target: TargetProcess, tmp_path: Path
) -> None:
    undo = read_undo(written, tmp_path)
    assert undo.target == target
    assert undo.shared
    (pages,) = undo.sets
    assert pages.addresses.tolist() == page_set().addresses.tolist()
    assert pages.sizes.tolist() == page_set().sizes.tolist()
    assert pages.wanted.tolist() == page_set().before.tolist()
    (thread,) = undo.threads
    assert (thread.tid, thread.started, thread.wanted) == (PID, STARTED, (0, 3))


def test_it_is_for_one_process(written: Path, target: TargetProcess, tmp_path: Path) -> None:
    (target.folder / "stat").write_text(stat_line(PID, "server", STARTED + 1))
    with pytest.raises(NumascapeError, match="which has ended"):
        read_undo(written, tmp_path)


def test_it_is_for_one_start_of_the_system(
    written: Path, target: TargetProcess, tmp_path: Path
) -> None:
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("another\n")
    with pytest.raises(NumascapeError, match="which has ended"):
        read_undo(written, tmp_path)


def test_only_what_can_undo_nothing_is_replaced(
    written: Path, target: TargetProcess, tmp_path: Path
) -> None:
    check_undo_place(tmp_path / "new.undo", tmp_path)
    check_undo_place(Path("/dev/null"), tmp_path)
    with pytest.raises(NumascapeError, match=r"can still undo an earlier move of process"):
        check_undo_place(written, tmp_path)
    (target.folder / "stat").write_text(stat_line(PID, "server", STARTED + 1))
    check_undo_place(written, tmp_path)
    written.write_text("thesis")
    for path in (written, tmp_path):
        with pytest.raises(NumascapeError, match=r"exists.*name another file with -o"):
            check_undo_place(path, tmp_path)


def test_a_move_that_fails_leaves_no_file(target: TargetProcess, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write_undo(tmp_path / "none/a.undo", target, [page_set()], [])
    assert not list(tmp_path.glob("*.undo"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"something else",
        b"numascape undo 1\n",
        b"numascape undo 1\n\xff\xff\xff\xff{}",
        b"numascape undo 1\n\x02\0\0\0{}",
        b"numascape undo 1\n\x02\0\0\0[]",
    ],
)
def test_what_is_no_undo_file_is_one_line(
    content: bytes, target: TargetProcess, tmp_path: Path
) -> None:
    path = tmp_path / "a.undo"
    path.write_bytes(content)
    with pytest.raises(NumascapeError, match=r"a\.undo is") as error:
        read_undo(path, tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("start", 1), ("start", -PAGE), ("pages", 1 << 40), ("pages", 4), ("pages", 2),
     ("page_bytes", 5000), ("page_bytes", 1 << 40), ("stored", 3), ("inode", -1)],
)  # fmt: skip
def test_wrong_ranges_are_refused(
    written: Path, target: TargetProcess, tmp_path: Path, field: str, value: int
) -> None:
    content = written.read_bytes()
    begin = content.index(b"\n") + 5
    length = int.from_bytes(content[begin - 4 : begin], "little")
    header = json.loads(content[begin : begin + length])
    header["ranges"][0][field] = value
    text = json.dumps(header).encode()
    changed = content[: begin - 4] + len(text).to_bytes(4, "little") + text
    written.write_bytes(changed + content[begin + length :])
    with pytest.raises(NumascapeError, match="damaged"):
        read_undo(written, tmp_path)


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(at=st.integers(0, 600), value=st.binary(min_size=1, max_size=5))
def test_no_damage_is_a_traceback(
    written: Path, target: TargetProcess, tmp_path: Path, at: int, value: bytes
) -> None:
    content = bytearray(written.read_bytes())
    content[at : at + len(value)] = value
    damaged = tmp_path / "damaged.undo"
    damaged.write_bytes(content)
    try:
        undo = read_undo(damaged, tmp_path)
    except NumascapeError:
        return
    for pages in undo.sets:
        assert all(0 <= node < 1024 for node in pages.wanted.tolist())


def test_only_pages_of_the_same_mapping_are_put_back() -> None:
    def mapping(first: int, end: int, path: str = "", inode: int = 0) -> Mapping:
        return Mapping(START + first * PAGE, START + end * PAGE, "rw-p", 0, "0:0", inode, path)

    kept = still_there([page_set()], [mapping(0, 1), mapping(2, 3, "/other", 7)])
    assert [pages.addresses.tolist() for pages in kept] == [[START]]
    assert still_there([page_set()], []) == []
    whole = still_there([page_set("/other", 7)], [mapping(0, 1024, "/other", 7)])
    assert len(whole[0].addresses) == 3
