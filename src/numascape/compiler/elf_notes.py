# SPDX-License-Identifier: Apache-2.0
"""Reads our note, which shows that our compilers built a program, and their version."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from numascape.elf_segments import PT_NOTE, read_segments

# src/native/compiled-recorder/arch/x86_64/stub.S
_NOTE_NAME = b"Numascape\0"
_CONTENT = 12  # the offset after the name, which is padded to words
_VERSION = 3  # src/native/llvm-pass/compiled_version.h
_LONGEST_NOTES = 1 << 20


def is_compiled_for_counting(path: Path) -> bool:
    """Whether our compilers of this version built it.

    False if the file is not an ELF file, or cannot be read.
    """
    return _version(path) == _VERSION


def is_of_another_version(path: Path) -> bool:
    """Whether our compilers of another version built it, so that it must be built again."""
    return _version(path) not in (None, _VERSION)


def _version(path: Path) -> int | None:
    try:
        for notes in _notes(path):
            at = notes.find(_NOTE_NAME)
            if at >= 0:
                (version,) = struct.unpack_from("<I", notes, at + _CONTENT)
                return int(version)
    except (OSError, struct.error):
        pass
    return None


def _notes(path: Path) -> Iterator[bytes]:
    """The contents of the segments PT_NOTE of a 64-bit little-endian ELF file."""
    with path.open("rb") as file:
        found = read_segments(file)
        for segment in found.segments if found else ():
            if segment.kind == PT_NOTE and segment.file_bytes <= _LONGEST_NOTES:
                file.seek(segment.offset)
                yield file.read(segment.file_bytes)
