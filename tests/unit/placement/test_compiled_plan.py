# SPDX-License-Identifier: Apache-2.0
"""The placer's file, read back byte by byte as src/native/placer/plan_format.h describes it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from numascape.placement.compiling import UsableResources, compile_plan, places
from numascape.plan import Plan, StructureRule, ThreadRule

HOST = UsableResources((0, 1, 70), {0: (0, 1), 3: (70, 71)}, (0, 1))
NONE = 0xFFFFFFFF
SPANS = (
    *("program", "socket", "folder", "masks", "orders", "openmp"),
    *("names", "stacks", "rules", "nodes", "weights", "posts"),
)


@dataclass
class File:
    content: bytes

    @property
    def header(self) -> tuple[int, ...]:
        """version, bytes, verifies, places, nodes, cpu_words."""
        return struct.unpack_from("<6I", self.content, 8)

    def rows(self, span: str, form: str) -> list[tuple[Any, ...]]:
        offset, count = struct.unpack_from("<2I", self.content, 32 + 8 * SPANS.index(span))
        assert offset % 8 == 0
        size = struct.calcsize(f"<{form}")
        return [
            struct.unpack_from(f"<{form}", self.content, offset + i * size) for i in range(count)
        ]

    def text(self, span: str) -> bytes:
        return b"".join(row[0] for row in self.rows(span, "c"))

    def at(self, offset: int, count: int) -> bytes:
        return self.content[offset : offset + count]


def compiled(plan: Plan, verifies: bool = False) -> File:
    return File(compile_plan(plan, HOST, 0, Path("/s"), Path("/f"), verifies).content)


def test_the_header_says_what_the_file_is_about() -> None:
    plan = Plan(program="/where/program")
    file = compiled(plan, verifies=True)
    assert file.content[:8] == b"NUMAPLAN"
    # Nodes are numbered up to 3, CPUs up to 70.
    assert file.header == (1, len(file.content), 1, 0, 4, 2)
    assert compiled(plan).header[2] == 0
    assert (file.text("program"), file.text("socket"), file.text("folder")) == (
        *(b"program\0", b"/s\0", b"/f\0"),
    )
    assert all(not file.rows(span, "I") for span in SPANS[4:])


@pytest.mark.parametrize(
    ("kind", "policy", "about"),
    [
        ("", "bind", 3),
        ("heap", "bind", 1),
        ("mapping", "bind", 1),
        ("global", "bind", 2),
        ("stack", "bind", 0),
        ("", "first-touch", 0),
    ],
)
def test_only_what_rules_are_about_is_placed(kind: str, policy: Any, about: int) -> None:
    rule = StructureRule("a", policy, kind=kind, nodes=(0,))
    assert compiled(Plan(structures=(rule,))).header[3] == about


def test_threads_have_masks_by_order_number_and_name() -> None:
    plan = Plan(
        threads=(
            ThreadRule((70, 1), order="0,2"),
            ThreadRule((1, 0), openmp="0", together=True),
            ThreadRule((70, 0), name="w*"),
            ThreadRule((1, 0), name="x", together=True),
        )
    )
    file = compiled(plan)
    masks = [low + (high << 64) for low, high in file.rows("masks", "2Q")]
    # That of the run, of CPUs 70 and 1, of both 0 and 1, then those of the two names.
    assert masks == [3 + (1 << 70), 1 << 70, 2, 3, 1 << 70, 1, 3]
    assert file.rows("orders", "2I") == [(0, 1), (NONE, 0), (0, 2)]
    assert file.rows("openmp", "2I") == [(1, 3)]
    first, second = file.rows("names", "5I")
    assert (file.at(*first[:2]), first[2:]) == (b"w*\0", (2, 4, 2))
    assert (file.at(*second[:2]), second[2:]) == (b"x\0", (3, 6, 1))


def test_rules_have_their_parts_of_the_lists() -> None:
    plan = Plan(
        structures=(
            StructureRule("a", "parts", nodes=(0, 1), parts=(0, 0.5, 1)),
            StructureRule("b", "weighted-interleave", nodes=(1, 0), weights=(3, 2)),
            StructureRule("c", "preferred", nodes=(1,)),
            StructureRule("d", "first-touch"),
            StructureRule("e", "bind", nodes=(0,)),
            StructureRule("f", "interleave", nodes=(1,)),
        )
    )
    file = compiled(plan)
    assert file.rows("rules", "5I") == [
        *((5, 2, 0, 0, 0), (2, 2, 2, 0, 3), (4, 1, 4, 2, 3)),
        *((0, 0, 5, 2, 3), (3, 1, 5, 2, 3), (1, 1, 6, 2, 3)),
    ]
    assert [row[0] for row in file.rows("nodes", "I")] == [0, 1, 1, 0, 1, 0, 1]
    assert [row[0] for row in file.rows("weights", "I")] == [3, 2]
    assert [row[0] for row in file.rows("posts", "d")] == [0.0, 0.5, 1.0]


def test_stacks_are_those_of_other_threads_than_main() -> None:
    def stack(name: str, kind: str = "", policy: Any = "bind") -> StructureRule:
        return StructureRule(name, policy, kind=kind, nodes=(0,))

    rules = (
        *(stack("Stack#2"), stack("Stack#0"), stack("Stack#10", "stack"), stack("Stack#1", "heap")),
        *(stack("Stack#3", policy="first-touch"), stack("Stack#12345678"), stack("Stack#1234567")),
    )
    assert compiled(Plan(structures=rules)).rows("stacks", "2I") == [(2, 0), (10, 2), (1234567, 6)]


def test_places_of_other_numbers_of_threads() -> None:
    def numbered(recorded: int, threads: int) -> list[Any]:
        plan = Plan(threads=(ThreadRule((0, 70), order="0-1"),), recorded_threads=recorded)
        return [place and place.cpus for place in places(plan, "order", threads, HOST)]

    assert numbered(2, 3) == [(0, 1), (0, 1), (70,)]
    assert numbered(0, 3) == [(0,), (70,)]
    assert numbered(4, 2) == [(0,), None]
    assert numbered(2, 1) == [(0,)]
    # As many places as there can be threads.
    many = Plan(threads=(ThreadRule((0,), order="0-40000"),))
    assert len(places(many, "order", 0, HOST)) == 32768
    recorded = Plan(threads=(ThreadRule((0,), order="0-40000"),), recorded_threads=40001)
    assert len(places(recorded, "order", 50000, HOST)) == 32768


def test_a_node_s_cpus_are_those_that_may_be_used() -> None:
    assert HOST.cpus_beside(70) == (70,)
    assert HOST.cpus_beside(1) == (0, 1)
    assert HOST.cpus_beside(9) == (9,)
