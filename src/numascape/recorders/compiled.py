# SPDX-License-Identifier: Apache-2.0
"""The compiled recorder: runs a program that numascape-cc and its like built, with our runtime."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.binary import client_options
from numascape.recorders.running import launch_error, run_command
from numascape.recorders.session import Ended, Session
from numascape.trace.elf_notes import is_compiled_for_counting, is_of_another_version

_ADDR_NO_RANDOMIZE = 0x0040000
_KEEP = 0xFFFFFFFF


def is_compiled(program: str) -> bool:
    """Whether the executable `program`, a path or a name on PATH, was built by our compilers."""
    path = shutil.which(program)
    return path is not None and is_compiled_for_counting(Path(path))


def is_out_of_date(program: str) -> bool:
    """Whether compilers of another version of ours built it, which this recorder cannot read."""
    path = shutil.which(program)
    return path is not None and is_of_another_version(Path(path))


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
    if is_out_of_date(session.program[0]):
        raise NumascapeError(
            f"{session.program[0]} was built by another version of numascape-cc, numascape-c++ or "
            "numascape-fc: build it again, or use --recorder binary"
        )
    helper = str(installed_file("_recorder/numascape-faults"))
    command = [helper, str(session.folder), "--clock", "--", *session.program]
    ended = run_under_helper(session, command)
    if why := launch_error(session):
        raise NumascapeError(why)
    if not session.shards():
        raise NumascapeError(
            f"{session.program[0]} ran, but nothing in it that numascape-cc, numascape-c++ or "
            "numascape-fc compiled (a static program has no place for the recorder): "
            "build it with them, or use --recorder binary"
        )
    return ended


def run_under_helper(session: Session, command: list[str], *options: str) -> Ended:
    """Run numascape-faults, which gives the program, not itself, our runtime."""
    environment = runtime_environment(session, *options)
    environment["NUMASCAPE_FAULTS_PRELOAD"] = environment.pop("LD_PRELOAD")
    if "LD_PRELOAD" in os.environ:
        environment["LD_PRELOAD"] = os.environ["LD_PRELOAD"]
    with fixed_addresses():
        return run_command(session, command, environment)


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
