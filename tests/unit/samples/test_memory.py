# SPDX-License-Identifier: Apache-2.0
"""Which mapping an address is in, at any time."""

from __future__ import annotations

import random

from numascape.samples.events import Mapping
from numascape.samples.memory import Memory


def mapping(start: int, end: int, number: int) -> Mapping:
    return Mapping(1, number, start, end, 0, f"//{number}")


def test_the_latest_mapping_holds_an_address() -> None:
    rng = random.Random(1)
    for _ in range(200):
        memory = Memory()
        expected: list[Mapping | None] = [None] * 40
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
