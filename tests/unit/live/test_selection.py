# SPDX-License-Identifier: Apache-2.0
"""Structures, files, tensors and rules of plans select the pages and threads to move."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.live.affinity import by_plan, by_policy
from numascape.live.mappings import Mapping
from numascape.live.parts import Part
from numascape.live.policies import MovePolicy
from numascape.live.room import Room, usable_nodes
from numascape.live.selection import (
    select_all,
    select_file,
    select_planned,
    select_structures,
)
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread, read_threads
from numascape.plan import Plan, StructureRule, ThreadRule

PAGE = 4096
POLICY = MovePolicy("interleave", (0, 1))
MAPPINGS = [
    Mapping(0, 8 * PAGE, "r-xp", 0, "8:1", 5, "/bin/server"),
    Mapping(8 * PAGE, 16 * PAGE, "rw-p", 0, "0:0", 0, ""),
    Mapping(16 * PAGE, 32 * PAGE, "r--s", 0, "8:1", 6, "/model.gguf"),
]
PARTS = [
    Part(0, 0, 8 * PAGE, PAGE, "server .text", "section", "/bin/server"),
    Part(1, 8 * PAGE, 12 * PAGE, PAGE, "table", "global", source="/src/a.c:10"),
    Part(1, 12 * PAGE, 16 * PAGE, PAGE, "table2", "global"),
    Part(2, 16 * PAGE, 24 * PAGE, PAGE, "blk.1.attn", "tensor", "/model.gguf", 1),
    Part(2, 24 * PAGE, 32 * PAGE, PAGE, "blk.2.attn", "tensor", "/model.gguf", 2),
]


def names(selection: object) -> list[str]:
    return [part.name for part, _ in selection.chosen]  # type: ignore[attr-defined]


def test_executables_are_left_out_unless_named() -> None:
    assert names(select_all(PARTS, MAPPINGS, POLICY)) == [one.name for one in PARTS[1:]]
    assert names(select_structures(PARTS, ["server .text"], POLICY)) == ["server .text"]


def test_names_may_be_patterns() -> None:
    assert names(select_structures(PARTS, ["table"], POLICY)) == ["table"]
    assert names(select_structures(PARTS, ["table*", "table"], POLICY)) == ["table", "table2"]
    with pytest.raises(NumascapeError, match="no structure 'none'"):
        select_structures(PARTS, ["table", "none"], POLICY)


def test_tensors_are_selected_by_name_and_layer() -> None:
    def chosen(tensor: str | None) -> list[str]:
        return names(select_file(PARTS, MAPPINGS, Path("/model.gguf"), tensor, POLICY))

    assert chosen(None) == ["blk.1.attn", "blk.2.attn"]
    assert chosen("layer 2") == ["blk.2.attn"]
    assert chosen("blk.1.*") == ["blk.1.attn"]
    with pytest.raises(NumascapeError, match="no tensor"):
        chosen("layer 3")
    with pytest.raises(NumascapeError, match="does not map"):
        select_file(PARTS, MAPPINGS, Path("/none"), None, POLICY)


def test_rules_of_plans_select_by_name_kind_and_line() -> None:
    rules = (
        StructureRule("table", "bind", "global", "", "b.c", 10, nodes=(1,)),  # another file
        StructureRule("table", "bind", "global", "", "a.c", 11, nodes=(1,)),  # another line
        StructureRule("table", "parts", "global", "", "a.c", 10, (0, 1), parts=(0, 0.5, 1)),
        StructureRule("table2", "first-touch"),
        StructureRule("table2", "bind", nodes=(1,)),  # the first rule counts
        StructureRule("malloc'd", "bind", nodes=(1,)),
    )
    found = select_planned(PARTS, Plan(structures=rules))
    assert [(part.name, policy.name) for part, policy in found.chosen] == [("table", "parts")]
    assert found.unmet == ("table", "table", "table2", "malloc'd")


def test_rules_of_a_recording_select_tensors_and_files() -> None:
    """A recording calls both mappings, and gives a file its last name."""
    file = Part(3, 32 * PAGE, 40 * PAGE, PAGE, "/data/table.bin", "file", "/data/table.bin")
    rules = (
        StructureRule("blk.1.attn", "bind", "mapping", nodes=(1,)),
        StructureRule("table.bin", "interleave", "mapping", nodes=(0, 1)),
        StructureRule("model.gguf", "parts", "mapping", nodes=(0, 1), parts=(0, 0.5, 1)),
        StructureRule("server", "bind", "mapping", nodes=(1,)),  # its code stays
    )
    found = select_planned([*PARTS, file], Plan(structures=rules))
    assert [(part.name, policy.name) for part, policy in found.chosen] == [
        ("blk.1.attn", "bind"),
        ("blk.2.attn", "parts"),
        ("/data/table.bin", "interleave"),
    ]
    # The rule divides the whole file, not the tensor.
    assert found.chosen[1][1].whole == (16 * PAGE, 32 * PAGE)
    assert found.unmet == ("server",)


def thread(tid: int, node: int = 0, name: str = "worker") -> Thread:
    return Thread(tid, name, tid, node * 2, node, (0, 1, 2, 3), 0)


CPUS = {0: (0, 1), 1: (2, 3), 2: ()}


def test_threads_follow_the_policy() -> None:
    threads = [thread(tid, tid % 2) for tid in range(4)]

    def wanted(policy: MovePolicy) -> list[tuple[int, ...]]:
        return [move.wanted for move in by_policy(threads, policy, CPUS)]

    assert wanted(MovePolicy("spread", (0, 1))) == [(0, 1), (0, 1), (2, 3), (2, 3)]
    assert wanted(MovePolicy("bind", (1, 2))) == [(2, 3)] * 4
    assert wanted(MovePolicy("local", (0, 1))) == [(0, 1), (2, 3), (0, 1), (2, 3)]
    with pytest.raises(NumascapeError, match="no CPUs"):
        wanted(MovePolicy("bind", (2,)))


def test_threads_follow_a_plan() -> None:
    threads = [thread(10, name="main"), thread(11), thread(12), thread(13, name="log")]
    plan = Plan(
        threads=(
            ThreadRule((3, 1), order="1-2"),
            ThreadRule((0, 1), name="l*", together=True),
            ThreadRule((0,), openmp="0-3"),
        )
    )
    moves, unmet = by_plan(threads, plan)
    assert {move.tid: move.wanted for move in moves} == {11: (3,), 12: (1,), 13: (0, 1)}
    assert unmet == ["openmp = '0-3'"]


def test_the_cpuset_of_the_process_counts(target: TargetProcess) -> None:
    for node in range(2):
        folder = target.root / f"sys/devices/system/node/node{node}"
        (folder / "meminfo").write_text(f"Node {node} MemTotal: 1024 kB\n")
    assert usable_nodes(target) == [0, 1]
    (target.folder / "status").write_text("Mems_allowed_list:\t1\n")
    assert usable_nodes(target) == [1]
    assert len(read_threads(target)) == 2


def test_room_ends_at_the_low_watermark(tmp_path: Path) -> None:
    folder = tmp_path / "sys/devices/system/node/node0"
    folder.mkdir(parents=True)
    (folder / "meminfo").write_text("Node 0 MemTotal: 102400 kB\nNode 0 MemFree: 40 kB\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/zoneinfo").write_text(
        "Node 0, zone   Normal\n        min      1\n        low      4\n        high     8\n"
        "        managed  25600\n        protection: (0, 0)\n"
    )
    room = Room(tmp_path)
    assert not room.grant(0, 7 * PAGE)
    assert room.grant(0, 6 * PAGE)
    assert not room.grant(0, 1)
    assert not room.grant(1, 1)
