# SPDX-License-Identifier: Apache-2.0
"""Whether our compilers built a program or library: it then has a note of ours."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

# src/native/compiled-recorder/stub.S
_NOTE_NAME = b"Numascape\0"
_PT_NOTE = 4
_LONGEST_NOTES = 1 << 20


def is_compiled_for_counting(path: Path) -> bool:
    """Whether the ELF file has the note; False for what is no such file, or cannot be read."""
    try:
        return any(_NOTE_NAME in notes for notes in _notes(path))
    except (OSError, struct.error):
        return False


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
