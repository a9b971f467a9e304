# SPDX-License-Identifier: Apache-2.0
"""Where in a structure its pages of each node lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from numascape.live.parts import Part

Column = npt.NDArray[np.int64]


def _empty() -> Column:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Cells:
    """Rows, ascending by part: a cell of a part (an index) has bytes in memory on a node.

    The cells of a part divide its addresses into ranges of `cell_bytes[part]` bytes. The last one
    may be shorter.
    """

    part: Column = field(default_factory=_empty)
    cell: Column = field(default_factory=_empty)
    node: Column = field(default_factory=_empty)
    bytes: Column = field(default_factory=_empty)
    cell_bytes: Column = field(default_factory=_empty)

    @staticmethod
    def of_columns(columns: dict[str, Any]) -> Cells:
        """The cells of the native `count_pages`."""
        return Cells(**{name: values.astype(np.int64) for name, values in columns.items()})


@dataclass(frozen=True)
class PlacedBytes:
    """Rows: bytes on a node are in the positions from `start` to `end`, which count from 0."""

    start: Column
    end: Column
    node: Column
    bytes: Column
    length: int


def placed_bytes(cells: Cells, parts: Sequence[Part], chosen: Sequence[int]) -> PlacedBytes:
    """The bytes of these parts (indices), as if the parts were directly behind each other."""
    rows, starts, ends, at = [], [], [], 0
    for number in sorted(chosen, key=lambda index: parts[index].start):
        length = parts[number].end - parts[number].start
        first, last = np.searchsorted(cells.part, [number, number + 1])
        if first < last:
            size = int(cells.cell_bytes[number])
            begin = cells.cell[first:last] * size
            rows.append(np.arange(first, last))
            starts.append(at + begin)
            ends.append(at + np.minimum(begin + size, length))
        at += length
    if not rows:
        return PlacedBytes(_empty(), _empty(), _empty(), _empty(), at)
    index = np.concatenate(rows)
    return PlacedBytes(
        np.concatenate(starts), np.concatenate(ends), cells.node[index], cells.bytes[index], at
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
