# SPDX-License-Identifier: Apache-2.0
"""Named parts of mapped data files: tensors of models, columns of tables."""

from __future__ import annotations

import bisect
from pathlib import Path

from numascape.live.files.layout import read_layout
from numascape.live.files.ranges import FileRange
from numascape.samples.events import RangeMapped

# Sections of executables are left out: their functions and variables say more.
_KINDS = {"tensor", "column"}


class FileParts:
    """The parts of files that still exist; each file is read once."""

    def __init__(self) -> None:
        self._ranges: dict[str, list[FileRange]] = {}

    def at(self, mapping: RangeMapped, address: int) -> FileRange | None:
        """The part of the mapped file to which an address of the mapping belongs."""
        ranges = self._ranges_of(mapping.path)
        offset = address - mapping.start + mapping.offset
        index = bisect.bisect_right(ranges, offset, key=lambda part: part.start) - 1
        return ranges[index] if index >= 0 and offset < ranges[index].end else None

    def _ranges_of(self, path: str) -> list[FileRange]:
        if path not in self._ranges:
            is_file = path.startswith("/") and path[1:2] != "/"
            found = read_layout(Path(path)).ranges if is_file else ()
            self._ranges[path] = [part for part in found if part.kind in _KINDS]
        return self._ranges[path]
