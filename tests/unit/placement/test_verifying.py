# SPDX-License-Identifier: Apache-2.0
"""Reports of the placer, made by hand, are added up; damaged ones do not count."""

from __future__ import annotations

import struct
from pathlib import Path

from numascape.placement.compiling import MAGIC, NOWHERE, VERSION
from numascape.placement.verifying import Verification, read_reports
from numascape.plan import Plan, StructureRule

PLAN = Plan(
    structures=(
        StructureRule("A", "weighted-interleave", nodes=(0, 2), weights=(3, 1)),
        StructureRule("B", "parts", nodes=(1, 0, 1), parts=(0, 0.2, 0.5, 1)),
        StructureRule("C", "bind", nodes=(2, 1)),
    )
)
Thread = tuple[int, int, int, int, int, int]


def report(
    process: int = 7,
    ending: int = 1,
    threads: tuple[Thread, ...] = (),
    rules: tuple[tuple[int, ...], ...] = (),
    columns: int = 3,
    hindered: tuple[int, int, int] = (0, 0, 0),
) -> bytes:
    """Rules: instances, bytes, right, elsewhere, untouched, then the pages of each node."""
    head = struct.pack(
        "<8s9I228s", MAGIC, VERSION, process, ending, len(rules), columns, len(threads),
        *hindered, b"/bin/a b\0rest",
    )  # fmt: skip
    rows = b"".join(struct.pack("<6I", *thread) for thread in threads).ljust(8192 * 24, b"\0")
    return head + rows + b"".join(struct.pack(f"<{5 + columns}Q", *rule) for rule in rules)


def read(folder: Path, *reports: bytes) -> Verification:
    for number, content in enumerate(reports):
        (folder / f"process-{number}").write_bytes(content)
    return read_reports(folder, PLAN, [(0, 1), (2, 3)])


def test_processes_are_added_up(tmp_path: Path) -> None:
    one = ((2, 8192, 3, 1, 5, 3, 0, 1), (1, 100, 0, 0, 1, 0, 0, 0))
    other = ((1, 4096, 2, 4, 6, 0, 6, 0), (0,) * 8, (5, 50, 7, 0, 0, 0, 0, 7), (9,) * 8)
    found = read(tmp_path, report(rules=one), report(8, 2, rules=other, hindered=(4, 5, 6)))
    a, b, c = found.structures
    assert (a.instances, a.bytes, a.right, a.elsewhere, a.untouched) == (3, 12288, 5, 5, 11)
    assert a.nodes == {0: 3, 1: 6, 2: 1}
    assert (a.name, a.policy, a.share) == ("A", "weighted-interleave", 0.5)
    assert (b.instances, b.share, b.nodes) == (1, None, {})
    assert (c.instances, c.share, c.nodes) == (5, 1.0, {2: 7})
    assert found.pages == (12, 5)
    assert [structure.planned for structure in found.structures] == [
        "0 x 3, 2 x 1",
        "3 parts on 0, 1",
        "2, 1",
    ]
    first, second = found.processes
    assert (first.process, first.program, first.ending) == (7, "/bin/a b", "exit")
    assert (second.process, second.ending) == (8, "signal")
    assert (second.unanswered, second.refused, second.crowded) == (4, 5, 6)


def test_threads_are_in_order_with_their_cpus(tmp_path: Path) -> None:
    threads = (
        (100, 2, 1, 1, 1, 3),
        (0, 9, 0, 0, 1, 0),  # not used
        (101, 0, NOWHERE, 0, 0, NOWHERE),
        (102, 1, 0, 2, 1, 0),  # no such mask: nothing is planned
    )
    found = read(tmp_path, report(threads=threads)).threads
    assert [(t.order, t.openmp, t.planned, t.is_right, t.last_cpu) for t in found] == [
        (0, None, (0, 1), False, None),
        (1, 0, (), True, 0),
        (2, 1, (2, 3), True, 3),
    ]
    assert {t.process for t in found} == {7}


def test_endings_have_words(tmp_path: Path) -> None:
    found = read(tmp_path, *(report(ending=ending) for ending in (0, 1, 2, 77)))
    assert [p.ending for p in found.processes] == ["not seen", "exit", "signal", "signal"]


def test_damaged_reports_do_not_count(tmp_path: Path) -> None:
    whole = report(rules=((1,) * 8,))
    found = read(tmp_path, b"", whole[:100], whole[:-1], whole + b"x", b"X" + whole[1:], whole)
    assert len(found.processes) == 1
    assert found.structures[0].instances == 1
