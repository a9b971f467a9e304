# SPDX-License-Identifier: Apache-2.0
"""Sections of executables and libraries that are loaded: .text, .rodata, .eh_frame and so on."""

from __future__ import annotations

import struct
from typing import BinaryIO, Final

from numascape.live.files.ranges import FileRange

_MAGIC: Final = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_HEADER: Final = 64
_ENTRY: Final = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_NO_BITS, _ALLOCATED = 8, 2
_LONGEST_NAMES: Final = 1 << 20
_LARGEST: Final = (1 << 63) - 1


def elf_sections(file: BinaryIO, size: int) -> tuple[str, list[FileRange]] | None:
    """The loaded sections that are in the file; None if it is not an ELF file of 64 bits."""
    header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        return None
    (table,) = struct.unpack_from("<Q", header, 40)
    entry_size, count, names = struct.unpack_from("<HHH", header, 58)
    if entry_size != _ENTRY.size or table > size or names >= count:
        return "ELF", []
    file.seek(table)
    entries = file.read(count * _ENTRY.size)
    if len(entries) < count * _ENTRY.size:
        return "ELF", []
    sections = list(_ENTRY.iter_unpack(entries))
    text = _names(file, sections[names][4], sections[names][5])
    return "ELF", [
        FileRange(offset, offset + length, _name(text, name), "section")
        for name, kind, flags, _, offset, length, *_ in sections
        if kind != _NO_BITS and flags & _ALLOCATED and 0 < length <= size - min(offset, size)
    ]


def _names(file: BinaryIO, offset: int, length: int) -> bytes:
    if offset > _LARGEST:
        return b""
    file.seek(offset)
    return file.read(min(length, _LONGEST_NAMES))


def _name(text: bytes, at: int) -> str:
    end = text.find(b"\0", at)
    return text[at:end].decode(errors="replace")[:100] if 0 <= at < end else "?"
