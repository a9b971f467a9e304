# SPDX-License-Identifier: Apache-2.0
"""Large files without named parts, and shared memory, by their offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from numascape.live.mapping_names import file_name
from numascape.live.positions import PlacedBytes, placed_bytes
from numascape.live.snapshot import Snapshot
from numascape.live.structures import Structure

_PARTS: Final = 16
_SMALLEST_PART: Final = 1 << 20
_DIVIDED: Final = ("file", "shared memory")


@dataclass(frozen=True)
class FilePart:
    """A part of a file from `offset` on, as a structure, and its bytes by position."""

    offset: int
    structure: Structure
    placed: PlacedBytes


def by_offset(snapshot: Snapshot, structure: Structure) -> list[FilePart]:
    """The parts of a file that have pages in memory, ascending.

    They have equal sizes, a power of two in MiB; there are at most 16. Empty if the structure is
    not a file, or too small. If its pages have several sizes, those of the parts are unknown.
    """
    if structure.kind not in _DIVIDED:
        return []
    placed, first = _placed(snapshot, structure)
    size = _SMALLEST_PART
    while size * _PARTS < placed.length:
        size *= 2
    begin = first // size * size
    edges = -(-(first + placed.length - begin) // size)
    if edges < 2:
        return []
    found = []
    for start in range(begin, begin + edges * size, size):
        between = _between(placed, start - first, start - first + size)
        nodes = {
            int(node): int(between.bytes[between.node == node].sum())
            for node in np.unique(between.node)
        }
        if nodes:
            found.append(FilePart(start, _part(structure, start, size, nodes), between))
    return found


def _placed(snapshot: Snapshot, structure: Structure) -> tuple[PlacedBytes, int]:
    """The bytes by offset behind the first one that is mapped, and this first offset.

    What several mappings map, counts for each of them.
    """
    parts = [snapshot.parts[number] for number in structure.parts]
    mapped = [snapshot.mappings[part.mapping] for part in parts]
    offsets = [at.offset + part.start - at.start for part, at in zip(parts, mapped, strict=True)]
    first = min(offsets)
    pieces = [placed_bytes(snapshot.cells, snapshot.parts, [at]) for at in structure.parts]
    shifts = [offset - first for offset in offsets]
    return PlacedBytes(
        np.concatenate([one.start + at for one, at in zip(pieces, shifts, strict=True)]),
        np.concatenate([one.end + at for one, at in zip(pieces, shifts, strict=True)]),
        np.concatenate([one.node for one in pieces]),
        np.concatenate([one.bytes for one in pieces]),
        max(one.length + at for one, at in zip(pieces, shifts, strict=True)),
    ), first


def _between(placed: PlacedBytes, start: int, end: int) -> PlacedBytes:
    """The part of the bytes between two positions."""
    inside = (placed.start < end) & (placed.end > start)
    first, last = placed.start[inside], placed.end[inside]
    cut_first, cut_last = np.maximum(first, start), np.minimum(last, end)
    share = (cut_last - cut_first) / (last - first)
    count = (placed.bytes[inside] * share).astype(np.int64)
    return PlacedBytes(cut_first - start, cut_last - start, placed.node[inside], count, end - start)


def _part(structure: Structure, start: int, size: int, nodes: dict[int, int]) -> Structure:
    total = sum(nodes.values())
    sizes = list(structure.page_sizes)
    return Structure(
        f"{file_name(structure.name)} {_offsets(start, start + size)}",
        structure.kind,
        structure.file,
        virtual=size,
        mapped_file=total,
        nodes=nodes,
        page_sizes={sizes[0]: total} if len(sizes) == 1 else {},
        policies=set(structure.policies),
    )


def _offsets(start: int, end: int) -> str:
    shift, unit = (30, "GiB") if (end - start) >> 30 else (20, "MiB")
    return f"[{start >> shift}-{end >> shift} {unit}]"
