# SPDX-License-Identifier: Apache-2.0
"""Where in a structure its pages of each node lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from numascape.live.parts import Part

Integers = npt.NDArray[np.int64]


def _empty() -> Integers:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class PartCells:
    """Rows, ascending by part: a cell of a part (an index) has bytes in memory on a node.

    The cells of a part divide its addresses into ranges of `cell_bytes[part]` bytes. The last one
    may be shorter.
    """

    part: Integers = field(default_factory=_empty)
    cell: Integers = field(default_factory=_empty)
    node: Integers = field(default_factory=_empty)
    bytes: Integers = field(default_factory=_empty)
    cell_bytes: Integers = field(default_factory=_empty)

    @staticmethod
    def of_columns(columns: dict[str, Any], numbers: Integers, parts: int) -> PartCells:
        """The cells of the native `count_pages`; `numbers` are its parts among all parts."""
        values = {name: column.astype(np.int64) for name, column in columns.items()}
        cell_bytes = np.zeros(parts, np.int64)
        cell_bytes[numbers] = values["cell_bytes"]
        return PartCells(
            numbers[values["part"]], values["cell"], values["node"], values["bytes"], cell_bytes
        )

    def chosen(self, which: npt.NDArray[np.bool_]) -> PartCells:
        """Some of the rows."""
        return PartCells(
            self.part[which],
            self.cell[which],
            self.node[which],
            self.bytes[which],
            self.cell_bytes,
        )

    def joined(self, other: PartCells) -> PartCells:
        """The rows of both, which have different parts."""
        part = np.concatenate([self.part, other.part])
        order = np.argsort(part, kind="stable")
        return PartCells(
            part[order],
            np.concatenate([self.cell, other.cell])[order],
            np.concatenate([self.node, other.node])[order],
            np.concatenate([self.bytes, other.bytes])[order],
            np.where(other.cell_bytes > 0, other.cell_bytes, self.cell_bytes),
        )


@dataclass(frozen=True)
class PlacedBytes:
    """Rows: bytes on a node are in the positions from `start` to `end`, which count from 0."""

    start: Integers
    end: Integers
    node: Integers
    bytes: Integers
    length: int


def placed_bytes(cells: PartCells, parts: Sequence[Part], chosen: Sequence[int]) -> PlacedBytes:
    """The bytes of these parts (indices), as if the parts were directly behind each other."""
    pieces = []
    for number in sorted(chosen, key=lambda index: parts[index].start):
        length = parts[number].end - parts[number].start
        first, last = np.searchsorted(cells.part, [number, number + 1])
        size = int(cells.cell_bytes[number]) if first < last else 0
        start = cells.cell[first:last] * size
        end = np.minimum(start + size, length)
        placed = (start, end, cells.node[first:last], cells.bytes[first:last])
        pieces.append(PlacedBytes(*placed, length))
    return behind_each_other(pieces)


def behind_each_other(pieces: Sequence[PlacedBytes]) -> PlacedBytes:
    """The pieces, each directly behind the last one."""
    places = np.cumsum([0, *(piece.length for piece in pieces)])
    starts = [piece.start + at for piece, at in zip(pieces, places, strict=False)]
    ends = [piece.end + at for piece, at in zip(pieces, places, strict=False)]
    return PlacedBytes(
        np.concatenate([_empty(), *starts]),
        np.concatenate([_empty(), *ends]),
        np.concatenate([_empty(), *(piece.node for piece in pieces)]),
        np.concatenate([_empty(), *(piece.bytes for piece in pieces)]),
        int(places[-1]),
    )


def bytes_by_position(placed: PlacedBytes, positions: int) -> dict[int, npt.NDArray[np.float64]]:
    """By node, the bytes in each of so many equal ranges of the positions."""
    edges = np.linspace(0, placed.length, positions + 1)
    found = {}
    for node in np.unique(placed.node).tolist():
        of_node = placed.node == node
        start, end = placed.start[of_node, None], placed.end[of_node, None]
        overlap = np.minimum(end, edges[None, 1:]) - np.maximum(start, edges[None, :-1])
        share = np.maximum(overlap, 0) / (end - start)
        found[int(node)] = (share * placed.bytes[of_node, None]).sum(axis=0)
    return found
