# SPDX-License-Identifier: Apache-2.0
"""Checks whether a library can be preloaded into a program."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from pathlib import Path
from typing import Final

from numascape.errors import NumascapeError

_DYNAMIC_LINKER: Final = 3  # PT_INTERP
_MAX_HEADERS: Final = 1 << 16
_FIRST_LINE: Final = 256  # as much of it as Linux reads for the interpreter of a script
_X86_64: Final = 62


def check_program(name: str) -> None:
    """Raise NumascapeError if `name` cannot be run, or not with a preloaded library."""
    found = shutil.which(name)
    if found is None:
        raise NumascapeError(f"{name} cannot be run: there is no such program")
    path = Path(found)
    try:
        _check_rights(path)
        with path.open("rb") as file:
            start = file.read(_FIRST_LINE)
            if start[:2] == b"#!":
                interpreter = start[2:].split(b"\n")[0].split()
                if interpreter and not interpreter[0].endswith(b"/env"):
                    _check_rights(Path(os.fsdecode(interpreter[0])))
                return
            if start[:4] != b"\x7fELF" or len(start) < 64:
                return  # another format, which the kernel may know
            if start[4:6] != b"\x02\x01" or struct.unpack_from("<H", start, 18)[0] != _X86_64:
                raise NumascapeError(f"{name} is for another kind of processor than x86-64")
            offset, size, count = (
                struct.unpack_from("<Q", start, 32)[0],
                *struct.unpack_from("<2H", start, 54),
            )
            file.seek(min(offset, 1 << 40))
            headers = file.read(min(size * count, _MAX_HEADERS * 56))
    except OSError as error:
        raise NumascapeError(f"{name} cannot be read: {error.strerror}") from error
    kinds = {headers[at : at + 4] for at in range(0, len(headers), max(size, 56))}
    if struct.pack("<I", _DYNAMIC_LINKER) not in kinds:
        raise NumascapeError(
            f"{name} is linked statically: a plan needs a program that loads the C library when it "
            "starts"
        )


def _check_rights(path: Path) -> None:
    """Refuse programs with more rights than their user: they ignore preloaded libraries."""
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise NumascapeError(
            f"{path} runs with the rights of another user or group: it cannot run under a plan"
        )
    try:
        os.getxattr(path, "security.capability")
    except OSError:
        return
    raise NumascapeError(f"{path} runs with file capabilities: it cannot run under a plan")
