# SPDX-License-Identifier: Apache-2.0
"""Runs `numascape` in processes that have its modules loaded already.

Loading them takes 0.6 s of CPU time, twice as much as all else in a small recording. Each process
is a forked copy of one that has only loaded them, and then does what the installed command does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

_LOADED = [
    "numascape.cli.entry",
    "numascape.commands.record",
    "numascape.recorders.record",
    "numascape.conversion.convert",
    "numascape.trace.write",
    "numascape.trace.write_part",
]


def run_loaded(
    arguments: Sequence[object],
    environment: Mapping[str, str] | None = None,
    limit_s: float = 300,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command line to its end, in this folder; the result has what it prints."""
    words = [str(argument) for argument in arguments]
    given = dict(os.environ if environment is None else environment)
    context = get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    with TemporaryDirectory() as printed_in:
        printed = {1: Path(printed_in, "output"), 2: Path(printed_in, "errors")}
        for path in printed.values():
            path.touch()
        process = context.Process(
            target=_become, args=(words, given, printed, folder or Path.cwd())
        )
        process.start()
        try:
            process.join(limit_s)
            if process.exitcode is None:
                raise subprocess.TimeoutExpired(words, limit_s)
        finally:
            if process.exitcode is None:  # with the program, which is in its session
                with suppress(ProcessLookupError):
                    os.killpg(process.pid or 0, signal.SIGKILL)
                process.kill()
        output, errors = (path.read_text() for path in printed.values())
    return subprocess.CompletedProcess(words, process.exitcode, output, errors)


def _become(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    printed: Mapping[int, Path],
    folder: Path,
) -> None:
    """In the new process: be the command with these arguments, and exit."""
    from numascape.cli.entry import main

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, path in printed.items():
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.argv = ["numascape", *arguments]
    main()
