# SPDX-License-Identifier: Apache-2.0
"""Whether our compilers built a program or library, and which version: it then has our note."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

# src/native/compiled-recorder/stub.S
_NOTE_NAME = b"Numascape\0"
_CONTENT = 12  # from the name on, which is filled up to words
_VERSION = 2  # src/native/llvm-pass/compiled_version.h
_PT_NOTE = 4
_LONGEST_NOTES = 1 << 20


def is_compiled_for_counting(path: Path) -> bool:
    """Whether our compilers built it, as this version's recorder understands it.

    False for what is no ELF file, or cannot be read.
    """
    return _version(path) == _VERSION


def is_of_another_version(path: Path) -> bool:
    """Whether compilers of another version of ours built it: it has to be built again."""
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
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01":
            return
        (offset,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        for index in range(count):
            file.seek(offset + index * size)
            kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", file.read(size))
            if kind == _PT_NOTE and length <= _LONGEST_NOTES:
                file.seek(at)
                yield file.read(length)
