# SPDX-License-Identifier: Apache-2.0
"""The mapping of an address at any time."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from numascape.samples.events import RangeMapped
from numascape.samples.memory import Memory, Modules


def mapping(start: int, end: int, number: int) -> RangeMapped:
    return RangeMapped(1, number, start, end, 0, f"//{number}")


def test_the_latest_mapping_holds_an_address() -> None:
    rng = random.Random(1)
    for _ in range(200):
        memory = Memory()
        expected: list[RangeMapped | None] = [None] * 40
        for number in range(12):
            start = rng.randrange(40)
            end = rng.randrange(start, 40)
            added = mapping(start, end, number)
            memory.add(added)
            expected[start:end] = [added] * (end - start)
        assert [memory.at(address) for address in range(40)] == expected


def test_a_copy_is_apart() -> None:
    memory = Memory([mapping(0, 10, 0)])
    other = memory.copy()
    other.add(mapping(0, 10, 1))
    assert memory.at(5) == mapping(0, 10, 0)
    assert other.at(5) == mapping(0, 10, 1)


@pytest.mark.parametrize(
    ("at", "number"),
    [
        (32, 1 << 63),  # the place of the program headers
        (32, (1 << 64) - 1),
        (64 + 16, (1 << 64) - 4096),  # the segment's address
        (64 + 40, (1 << 64) - 1),  # its size in memory
    ],
)
def test_a_damaged_file_is_no_module(tmp_path: Path, at: int, number: int) -> None:
    header = b"\x7fELF\x02\x01".ljust(16, b"\0") + struct.pack("<H14xQ", 3, 64)
    header = header.ljust(54, b"\0") + struct.pack("<HH", 56, 1)
    program = struct.pack("<IIQQQQQQ", 1, 4, 0, 4096, 0, 4096, 4096, 4096)
    content = bytearray(header.ljust(64, b"\0") + program)
    path = tmp_path / "program"
    path.write_bytes(content)
    modules = Modules()
    modules.add(RangeMapped(1, 0, 8192, 12288, 0, str(path)))
    assert list(modules.modules) == [str(path)]
    content[at : at + 8] = struct.pack("<Q", number)
    path.write_bytes(content)
    modules = Modules()
    modules.add(RangeMapped(1, 0, 8192, 12288, 0, str(path)))
    assert modules.modules == {}
    modules.symbols()
