# SPDX-License-Identifier: Apache-2.0
"""Strips show where in a structure the pages of each node are."""

from __future__ import annotations

import io

import numpy as np
from rich.console import Console

from numascape.console.structure_table import (
    StructureRow,
    strip_note,
    strip_text,
    structure_table,
)
from numascape.live.parts import Part
from numascape.live.positions import PartCells, bytes_by_position, placed_bytes
from numascape.live.strips import node_strip

PAGE = 4096
CELL = 16 * PAGE


def part(start: int, pages: int) -> Part:
    return Part(0, start, start + pages * PAGE, PAGE, "x", "mapping")


def cells_of(*rows: tuple[int, int, int, int]) -> PartCells:
    """Rows: part, cell, node, pages."""
    columns = np.array(rows, np.int64).T
    return PartCells(columns[0], columns[1], columns[2], columns[3] * PAGE, np.array([CELL] * 9))


def strip(cells: PartCells, *parts: Part) -> str:
    return strip_text(node_strip(placed_bytes(cells, parts, range(len(parts)))))


def test_halves_and_an_interleaved_structure_differ() -> None:
    whole = part(0, 16 * 16)
    halves = cells_of(*((0, cell, cell // 8, 16) for cell in range(16)))
    interleaved = cells_of(*((0, cell, node, 8) for cell in range(16) for node in range(2)))
    assert strip(halves, whole) == "0" * 8 + "1" * 8
    assert strip(interleaved, whole) == "*" * 16


def test_a_position_is_of_the_node_with_three_quarters() -> None:
    whole = part(0, 16 * 16)
    cells = cells_of(
        (0, 0, 0, 12), (0, 0, 1, 4), (0, 1, 0, 11), (0, 1, 1, 5), (0, 2, -1, 16), (0, 15, 11, 1)
    )
    assert strip(cells, whole) == "0*?············b"


def test_parts_follow_each_other_by_address() -> None:
    """The second part has the lower address, and only its first half is in memory."""
    cells = cells_of((0, 0, 1, 16), (1, 0, 0, 8))
    high, low = part(1 << 30, 16), part(0, 32)
    assert strip(cells, high, low) == "000000····111111"


def test_no_byte_is_lost() -> None:
    cells = cells_of((0, 0, 0, 16), (0, 1, 0, 3), (1, 0, 1, 5))
    placed = placed_bytes(cells, (part(0, 19), part(1 << 20, 7)), (0, 1))
    found = bytes_by_position(placed, 16)
    assert {node: round(float(counts.sum())) for node, counts in found.items()} == {
        0: 19 * PAGE,
        1: 5 * PAGE,
    }


def test_only_symbols_that_are_used_are_explained() -> None:
    assert strip_note(["0" * 16]) == "by position: the node of each 16th"
    assert strip_note(["0·*"]).endswith("; * several nodes; · not in memory")


def test_many_nodes_are_shown_by_their_largest_shares() -> None:
    nodes = range(16)
    row = StructureRow("grid", "mapping", 100, {3: 60, 7: 30, 9: 10}, {PAGE: 100}, "*" * 16)
    console = Console(file=io.StringIO(), width=80)
    console.print(structure_table([row], nodes, console, huge_told=True))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "3: 60.0 %, 7: 30.0 %" in text
    assert max(map(len, text.splitlines())) <= 80
