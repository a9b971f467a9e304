# SPDX-License-Identifier: Apache-2.0
"""The compiled recorder: runs a program that numascape-cc and its like built, with our runtime."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.binary import client_options
from numascape.recorders.running import run_command
from numascape.recorders.session import Ended, Session

# The note that the stub puts into each program and library: src/native/compiled-recorder/stub.S.
_NOTE_NAME = b"Numascape\0"
_PT_NOTE = 4
_LONGEST_NOTES = 1 << 20
_ADDR_NO_RANDOMIZE = 0x0040000
_KEEP = 0xFFFFFFFF


def is_compiled(program: str) -> bool:
    """Whether the executable `program`, a path or a name on PATH, was built by our compilers."""
    path = shutil.which(program)
    if path is None:
        return False
    try:
        return any(_NOTE_NAME in notes for notes in _notes(Path(path)))
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


def runtime_environment(session: Session, *options: str) -> dict[str, str]:
    """The environment of a program that is to find our runtime, with these options besides."""
    runtime = str(installed_file("_recorder/libnumascape_runtime.so"))
    preload = [runtime, *filter(None, [os.environ.get("LD_PRELOAD")])]
    return {
        **os.environ,
        "LD_PRELOAD": ":".join(preload),
        "NUMASCAPE_COMPILED_DIRECTORY": str(session.folder),
        "NUMASCAPE_COMPILED_OPTIONS": " ".join([client_options(session), *options]),
    }


def run(session: Session) -> Ended:
    """Run the session's program with the runtime preloaded, until it ends.

    Raises NumascapeError when it could not be started, or was not built by our compilers.
    """
    environment = runtime_environment(session)
    with fixed_addresses():
        ended = run_command(session, session.program, environment)
    if not session.shards():
        raise NumascapeError(
            f"{session.program[0]} ran, but nothing in it that numascape-cc, numascape-c++ or "
            "numascape-fc compiled (a static program has no place for the recorder): "
            "build it with them, or use --recorder binary"
        )
    return ended


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """Children get no address space randomisation: counters are found by the address."""
    personality = ctypes.CDLL(None).personality
    personality.argtypes = [ctypes.c_ulong]
    before = personality(_KEEP)
    personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        personality(before)
