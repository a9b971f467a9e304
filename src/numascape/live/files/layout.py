# SPDX-License-Identifier: Apache-2.0
"""Named ranges of a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from numascape.live.files.elf_sections import elf_sections
from numascape.live.files.gguf import gguf_tensors
from numascape.live.files.parquet import parquet_columns
from numascape.live.files.ranges import FileRange
from numascape.live.files.safetensors import safetensors_tensors

_READERS = (gguf_tensors, safetensors_tensors, parquet_columns, elf_sections)


@dataclass(frozen=True)
class FileLayout:
    """The content of a file: its format ("" if unknown), and ranges that ascend without overlap."""

    format: str
    ranges: tuple[FileRange, ...]


def read_layout(path: Path) -> FileLayout:
    """The layout of a file; empty if its format is unknown, or if it is damaged or not readable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return _layout(file, os.fstat(descriptor).st_size)
    except OSError:
        return FileLayout("", ())


def _layout(file: BinaryIO, size: int) -> FileLayout:
    for reader in _READERS:
        file.seek(0)
        found = reader(file, size)
        if found is not None:
            return FileLayout(found[0], _without_overlap(found[1], size))
    return FileLayout("", ())


def _without_overlap(ranges: list[FileRange], size: int) -> tuple[FileRange, ...]:
    kept: list[FileRange] = []
    for item in sorted(ranges, key=lambda item: (item.start, item.end)):
        if 0 <= item.start < item.end <= size and (not kept or item.start >= kept[-1].end):
            kept.append(item)
    return tuple(kept)
