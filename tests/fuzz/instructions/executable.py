# SPDX-License-Identifier: Apache-2.0
"""Writes the content of sections into an executable that has room for them."""

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

# ELF's header (e_shoff, e_shentsize, e_shnum, e_shstrndx) and section headers (System V ABI).
_HEADER: Final = struct.Struct("<40xQ10xHHH")
_SECTION: Final = struct.Struct("<I20xQQ24x")  # sh_name, sh_offset, sh_size


class _Section(NamedTuple):
    name: int
    offset: int
    size: int


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


def _sections(file: BinaryIO) -> dict[str, _Section]:
    begin, entry, count, strings = _HEADER.unpack(_read(file, 0, _HEADER.size))
    table = _read(file, begin, entry * count)
    found = [_Section(*_SECTION.unpack_from(table, at * entry)) for at in range(count)]
    names = _read(file, found[strings].offset, found[strings].size)
    return {names[each.name : names.index(0, each.name)].decode(): each for each in found}


def write_sections(path: Path, contents: Mapping[str, tuple[int, Iterable[bytes]]]) -> None:
    """Write into each section, from an offset on, the parts of its content."""
    with path.open("r+b") as file:
        sections = _sections(file)
        for name, (offset, parts) in contents.items():
            section = sections[name]
            file.seek(section.offset + offset)
            for part in parts:
                file.write(part)
            if file.tell() > section.offset + section.size:
                raise ValueError(f"{name} is too small")
