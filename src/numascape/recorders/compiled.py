# SPDX-License-Identifier: Apache-2.0
"""The compiled recorder: runs a program that our compilers built, with our runtime."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numascape.compiler.elf_notes import is_compiled_for_counting, is_of_another_version
from numascape.environment import users_environment
from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.binary import client_options
from numascape.recorders.running import launch_error, run_command
from numascape.recorders.shard_files import refuse_small_address_space
from numascape.recording.session import Ended, Session

_ADDR_NO_RANDOMIZE = 0x0040000
_KEEP = 0xFFFFFFFF


def is_compiled(program: str) -> bool:
    """Whether the executable `program`, a path or a name on PATH, was built by our compilers."""
    path = shutil.which(program)
    return path is not None and is_compiled_for_counting(Path(path))


def is_out_of_date(program: str) -> bool:
    """Whether our compilers of another version built it; this recorder cannot record it then."""
    path = shutil.which(program)
    return path is not None and is_of_another_version(Path(path))


def runtime_environment(session: Session, *options: str) -> dict[str, str]:
    """The environment of a program with our runtime, which gets these additional options."""
    runtime = str(installed_file("_recorder/libnumascape_runtime.so"))
    preload = [runtime, *filter(None, [os.environ.get("LD_PRELOAD")])]
    return {
        **users_environment(),
        "LD_PRELOAD": ":".join(preload),
        "NUMASCAPE_COMPILED_DIRECTORY": str(session.folder),
        "NUMASCAPE_COMPILED_OPTIONS": " ".join([client_options(session.options), *options]),
    }


def run(session: Session) -> Ended:
    """Run the session's program with the runtime preloaded, until it ends.

    Raises NumascapeError if it could not be started, or was not built by our compilers.
    """
    if is_out_of_date(session.program[0]):
        raise NumascapeError(
            f"{session.program[0]} was built by another version of numascape-cc, numascape-c++ or "
            "numascape-fc: build it again, or use --recorder binary"
        )
    refuse_small_address_space()
    helper = str(installed_file("_recorder/numascape-faults"))
    command = [helper, str(session.folder), "--clock", "--", *session.program]
    ended = run_under_helper(session, command)
    if why := launch_error(session):
        raise NumascapeError(why)
    session.check_room()
    if not session.shards():
        raise NumascapeError(
            f"{session.program[0]} ran, but none of its code was compiled by numascape-cc, "
            "numascape-c++ or numascape-fc (static programs cannot be recorded): "
            "build it with them, or use --recorder binary"
        )
    return ended


def run_under_helper(session: Session, command: list[str], *options: str) -> Ended:
    """Run numascape-faults, which preloads our runtime into the program, but not into itself."""
    environment = runtime_environment(session, *options)
    environment["NUMASCAPE_FAULTS_PRELOAD"] = environment.pop("LD_PRELOAD")
    if "LD_PRELOAD" in os.environ:
        environment["LD_PRELOAD"] = os.environ["LD_PRELOAD"]
    with fixed_addresses():
        return run_command(session, command, environment)


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """Disable address space randomisation for children, because counters are found by address."""
    personality = ctypes.CDLL(None).personality
    personality.argtypes = [ctypes.c_ulong]
    before = personality(_KEEP)
    personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        personality(before)
