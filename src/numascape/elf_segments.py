# SPDX-License-Identifier: Apache-2.0
"""Reads the segments of an ELF file, which is not trusted."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

PT_LOAD, PT_NOTE, PT_TLS = 1, 4, 7
_ENTRY = struct.Struct("<IIQQQQQQ")  # Elf64_Phdr
_ET_EXEC = 2
# The largest offset in a file; seeking beyond it is an OverflowError.
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Segment:
    """A program header: where its content is in the file and in memory, in bytes."""

    kind: int
    offset: int
    address: int
    file_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class Segments:
    """All program headers; `fixed`: the file runs only at the addresses that it names."""

    fixed: bool
    segments: tuple[Segment, ...]


def read_segments(file: BinaryIO) -> Segments | None:
    """The segments of a 64-bit little-endian ELF file; None for other or damaged files.

    Raises OSError when the file cannot be read.
    """
    header = file.read(64)
    if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
        return None
    (kind,) = struct.unpack_from("<H", header, 16)
    (offset,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    if size != _ENTRY.size or offset > _LARGEST:
        return None
    file.seek(offset)
    table = file.read(size * count)
    if len(table) < size * count:
        return None
    return Segments(kind == _ET_EXEC, tuple(_entries(table)))


def _entries(table: bytes) -> Iterator[Segment]:
    for kind, _, offset, address, _, file_bytes, memory_bytes, _ in _ENTRY.iter_unpack(table):
        yield Segment(kind, min(offset, _LARGEST), address, file_bytes, memory_bytes)
