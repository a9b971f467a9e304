# SPDX-License-Identifier: Apache-2.0
"""Mappings, their policies, names and threads are read from copies of /proc."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numascape import NumascapeError
from numascape.live.mapping_names import name_mappings
from numascape.live.mappings import (
    Mapping,
    parse_maps,
    parse_numa_maps,
    read_mappings,
    readable_path,
)
from numascape.live.targets import TargetProcess
from numascape.live.threads import read_threads
from unit.live.conftest import MAPS, NUMA_MAPS, PID

MIB = 1 << 20


def test_each_mapping_that_can_have_pages_is_read(target: TargetProcess) -> None:
    mappings = read_mappings(target)
    # Memory that nobody may access, and the kernel's own page, are left out.
    assert len(mappings) == MAPS.count("\n") - 2
    model = mappings[3]
    assert (model.path, model.inode, model.is_shared) == ("/models/my model.gguf", 262145, True)
    assert (model.end - model.start, model.offset, model.deleted) == (8 * MIB, 0, False)
    assert mappings[4].deleted
    assert mappings[10].policy == "bind:1"
    only = {item.start: (item.only_node, item.only_bytes) for item in mappings}
    assert only[0x7F0000000000] == (0, 2048 * 4096)
    assert only[0x7F1500000000] == (-1, 0)  # on two nodes
    assert only[0x7F1600000000] == (1, 4 << 21)
    assert mappings[10].page_bytes == 2 * MIB


def test_policies_are_read_only_if_wanted(target: TargetProcess) -> None:
    (target.folder / "numa_maps").unlink()
    assert {mapping.policy for mapping in read_mappings(target, with_policies=False)} == {""}
    with pytest.raises(NumascapeError, match="built without NUMA"):
        read_mappings(target)


def test_numa_maps_has_pages_by_node() -> None:
    lines = parse_numa_maps(NUMA_MAPS)
    assert lines[0x55F0C1000000].pages == {0: 200, 1: 56}
    assert lines[0x7F1500000000].policy == "interleave:0-1"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "7f00-7e00 rw-p 00000000 00:00 0 ",  # ends before it starts
        "7f0000001-7f0000002 rw-p 00000000 00:00 0 ",  # not whole pages
        "7f000000-7f001000 rw-p",
        "7f000000-7f001000 zz-p 00000000 00:00 0 ",
        "ffffffffffffffffffff-fffffffffffffffffffff rw-p 00000000 00:00 0 ",
        "x" * 10_000,
    ],
)
def test_damaged_lines_are_left_out(line: str) -> None:
    good = "00400000-00401000 r-xp 00000000 08:01 5 /bin/true"
    assert len(parse_maps(f"{line}\n{good}\n{line}\n")) == 1


@pytest.mark.parametrize(
    "line",
    ["", "zz default N0=1", "400000", "400000 default kernelpagesize_kB=3 N0=1",
     "400000 default kernelpagesize_kB=0", "400000 default N0=" + "9" * 100],
)  # fmt: skip
def test_damaged_lines_of_numa_maps_say_nothing(line: str) -> None:
    pages = [one.pages for one in parse_numa_maps(line).values()]
    assert pages in ([], [{}])


def test_overlapping_mappings_are_not_counted_twice() -> None:
    text = "00400000-00500000 rw-p 0 00:00 0 \n00401000-00402000 rw-p 0 00:00 0 \n"
    assert len(parse_maps(text)) == 1


def test_mappings_have_the_names_that_users_know(target: TargetProcess) -> None:
    mappings = read_mappings(target)
    names = name_mappings(mappings, read_threads(target), 8 << 20)
    assert [(name.name, name.kind) for name in names] == [
        ("/opt/llm/server", "file"),
        ("data of server", "global"),
        ("heap", "heap"),
        ("/models/my model.gguf", "file"),
        ("SysV segment 32768, key 0x0052e2c1", "shared memory"),
        ("shared memory /PostgreSQL.1234", "shared memory"),
        ("shared anonymous memory at 0x7f1200000000", "shared memory"),
        ("arena of ours", "mapping"),
        ("heap of threads (malloc arenas)", "heap"),
        (f"stack of thread {PID + 1} (worker)", "stack"),
        ("mapping in huge pages at 0x7f1600000000", "mapping"),
        ("stack of the main thread", "stack"),
    ]


def test_a_mapping_at_a_multiple_of_64_mib_is_an_arena_only_if_it_reserves_the_rest() -> None:
    # The kernel aligns large mappings to 2 MiB, so one in 32 begins at a multiple of 64 MiB.
    plain = "7f1400000000-7f1400400000 rw-p 00000000 00:00 0 \n"
    far = "7f1404000000-7f1408000000 ---p 00000000 00:00 0 \n"
    arena = "7f1500000000-7f1500400000 rw-p 00000000 00:00 0 \n"
    rest = "7f1500400000-7f1504000000 ---p 00000000 00:00 0 \n"
    shorter = "7f1500400000-7f1500800000 ---p 00000000 00:00 0 \n"
    full = "7f1600000000-7f1604000000 rw-p 00000000 00:00 0 \n"

    def kinds(text: str) -> list[str]:
        return [name.kind for name in name_mappings(parse_maps(text), [], 8 << 20)]

    assert kinds(plain + far) == ["mapping"]
    assert kinds(arena + rest) == ["heap"]
    assert kinds(arena + shorter) == ["mapping"]
    assert kinds(full) == ["mapping"]
    assert kinds(plain + arena + rest + full) == ["mapping", "heap", "heap"]


def test_shared_memory_of_a_known_server_has_its_name() -> None:
    server = "55f0c0000000-55f0c0004000 r-xp 0 08:01 7 /usr/lib/postgresql/15/bin/postgres\n"
    client = "55f0c0000000-55f0c0004000 r-xp 0 08:01 7 /usr/bin/postgres-client\n"
    shared = "7f1200000000-7f1200400000 rw-s 0 00:01 9 /dev/zero (deleted)\n"
    huge = "7f1200000000-7f1200400000 rw-s 0 00:0f 9 /anon_hugepage (deleted)\n"
    own = "7f1200000000-7f1200400000 rw-p 0 00:00 0 \n"

    def last(text: str) -> tuple[str, str]:
        *_, name = name_mappings(parse_maps(text), [], 8 << 20)
        return name.name, name.kind

    assert last(server + shared) == ("PostgreSQL's shared memory", "shared memory")
    assert last(server + huge) == ("PostgreSQL's shared memory", "shared memory")
    assert last(server + own) == ("mapping at 0x7f1200000000", "mapping")
    assert last(client + shared) == ("shared anonymous memory at 0x7f1200000000", "shared memory")


def test_small_mappings_have_one_name() -> None:
    small = Mapping(0x1000, 0x3000, "rw-p", 0, "00:00", 0, "")
    large = Mapping(0x400000, 0x800000, "rw-p", 0, "00:00", 0, "")
    names = [name.name for name in name_mappings([small, large], [], 8 << 20)]
    assert names == ["mappings under 2 MiB", "mapping at 0x400000"]


def test_threads_are_on_nodes(target: TargetProcess) -> None:
    main, worker = read_threads(target)
    assert (main.tid, main.cpu, main.node, main.cpus) == (PID, 1, 0, (0, 1, 2, 3))
    assert (worker.name, worker.node, worker.stack_pointer) == ("worker", 1, 0x7F1500700010)
    nodes = {0: (0, 1), 1: (2, 3)}
    assert (main.nodes(nodes), worker.nodes(nodes)) == ([0, 1], [1])


@pytest.mark.parametrize("text", ["running\n", "", "-1 0xzz 0x1\n"])
def test_a_running_thread_has_no_known_stack(target: TargetProcess, text: str) -> None:
    (target.folder / f"task/{PID}/syscall").write_text(text)
    assert read_threads(target)[0].stack_pointer == 0


def test_another_users_process_is_one_line(
    target: TargetProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> bytes:
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(NumascapeError, match="with sudo") as error:
        read_mappings(target)
    assert "\n" not in str(error.value)


def test_a_mapped_file_that_was_deleted_can_still_be_read(target: TargetProcess) -> None:
    links = target.folder / "map_files"
    links.mkdir()
    for start, end in ((0x7F0000000000, 0x7F0000001000), (0x7F1000000000, 0x7F1000001000)):
        (links / f"{start:x}-{end:x}").write_text("content")
    status = (links / "7f0000000000-7f0000001000").stat()
    deleted = Mapping(0x7F0000000000, 0x7F0000001000, "r--s", 0, "08:01", status.st_ino,
                      "/m.gguf", deleted=True)  # fmt: skip
    found = readable_path(target, deleted)
    assert found == links / "7f0000000000-7f0000001000"
    assert readable_path(target, replace(deleted, inode=status.st_ino + 9)) is None
    # The kernel's own files are shared memory: they are not read.
    segment = replace(deleted, path="/SYSV00000000")
    assert readable_path(target, segment) is None
