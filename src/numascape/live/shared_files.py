# SPDX-License-Identifier: Apache-2.0
"""Files and shared memory that several processes map: the node of each page, once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape._native import live as native
from numascape.live.mappings import Mapping
from numascape.live.positions import PlacedBytes
from numascape.live.snapshot import HUGE_PAGE, Snapshot

FileKey = tuple[str, int]
"""The device and the inode of a file."""
# The pages of larger ranges are counted for each process; this many need half a gigabyte here.
_MOST_PAGES: Final = 1 << 28
_CELLS: Final = 32


@dataclass(frozen=True)
class SharedFile:
    """The pages of a file from `offset` (bytes) on that processes map.

    `nodes` has an element for each page: see add_file_nodes.
    """

    offset: int
    page_bytes: int
    nodes: npt.NDArray[np.int16]

    @property
    def end(self) -> int:
        """The offset behind the last page."""
        return self.offset + len(self.nodes) * self.page_bytes

    def counts(self, start: int, end: int) -> dict[tuple[int, int], int]:
        """The bytes between two offsets in the file, by node (-1: unknown) and size of page."""
        values, numbers = np.unique(self._pages(start, end), return_counts=True)
        found: dict[tuple[int, int], int] = {}
        for value, number in zip(values.tolist(), numbers.tolist(), strict=True):
            if value != native.NOT_MAPPED:
                is_huge = value >= native.IN_HUGE_PAGE
                size = max(self.page_bytes, HUGE_PAGE) if is_huge else self.page_bytes
                found[value - native.IN_HUGE_PAGE * is_huge, size] = number * self.page_bytes
        return found

    def placed(self, start: int, end: int) -> PlacedBytes:
        """The bytes between two offsets by their position behind the first one."""
        size = max(1, -(-(end - start) // self.page_bytes // _CELLS)) * self.page_bytes
        rows = [
            (at - start, min(at + size, end) - start, node, count)
            for at in range(start, end, size)
            for (node, _), count in self.counts(at, min(at + size, end)).items()
        ]
        columns = np.array(rows, np.int64).reshape(-1, 4).T
        return PlacedBytes(columns[0], columns[1], columns[2], columns[3], end - start)

    def _pages(self, start: int, end: int) -> npt.NDArray[np.int16]:
        first = (start - self.offset) // self.page_bytes
        return self.nodes[max(0, first) : max(0, -(-(end - self.offset) // self.page_bytes))]


def key_of(mapping: Mapping) -> FileKey | None:
    """The file of a mapping; None if it maps none."""
    return (mapping.device, mapping.inode) if mapping.is_file else None


def read_shared_files(snapshots: Sequence[Snapshot]) -> dict[FileKey, SharedFile]:
    """The files that at least two of these processes map. Pages of ended processes are missing."""
    users: dict[FileKey, list[tuple[Snapshot, Mapping]]] = {}
    for snapshot in snapshots:
        for mapping in snapshot.mappings:
            key = key_of(mapping)
            if key is not None:
                users.setdefault(key, []).append((snapshot, mapping))
    found = {}
    for key, mapped in users.items():
        first = mapped[0][0]
        if any(snapshot is not first for snapshot, _ in mapped):
            file = _nodes_of(mapped)
            if file is not None:
                found[key] = file
    return found


def _nodes_of(mapped: Sequence[tuple[Snapshot, Mapping]]) -> SharedFile | None:
    page_bytes = min(mapping.page_bytes for _, mapping in mapped)
    offset = min(mapping.offset for _, mapping in mapped)
    end = max(mapping.offset + mapping.end - mapping.start for _, mapping in mapped)
    pages = (end - offset) // page_bytes
    if pages > _MOST_PAGES:
        return None
    nodes = np.full(pages, native.NOT_MAPPED, np.int16)
    for snapshot, mapping in mapped:
        first = (mapping.offset - offset) // page_bytes
        last = first + (mapping.end - mapping.start) // page_bytes
        with suppress(OSError):  # the process has ended
            native.add_file_nodes(
                snapshot.target.pid,
                str(snapshot.target.folder / "pagemap"),
                mapping.start,
                mapping.end,
                page_bytes,
                nodes[first:last],
            )
    return SharedFile(offset, page_bytes, nodes)
