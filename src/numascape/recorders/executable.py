# SPDX-License-Identifier: Apache-2.0
"""Checks a program before it is started."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from numascape.elf_segments import PT_LOAD, read_segments
from numascape.errors import NumascapeError

_MAGIC: Final = b"\x7fELF\x02\x01"  # 64 bits, little-endian


def check_executable(name: str) -> None:
    """Raise NumascapeError if there is no such program, or no kernel can execute its ELF file.

    Other files, and those that cannot be read, are left to the kernel.
    """
    found = shutil.which(name)
    if found is None:
        raise NumascapeError(f"cannot run {name}: {_why_not_found(name)}")
    try:
        with Path(found).open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return
            file.seek(0)
            headers = read_segments(file)
    except OSError:
        return
    if headers is None or all(segment.kind != PT_LOAD for segment in headers.segments):
        raise NumascapeError(f"cannot run {name}: the program headers of the file are damaged")


def _why_not_found(name: str) -> str:
    path = Path(name)
    if "/" not in name or not path.exists():
        return "there is no such program"
    return "it is a folder" if path.is_dir() else "the file is not executable"
