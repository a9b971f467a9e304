# SPDX-License-Identifier: Apache-2.0
"""Runs `numascape` in processes that have its modules loaded already.

Loading them takes 0.6 s of CPU time, twice as much as all else in a small recording. Each process
is a forked copy of one that has only loaded them, and then does what the installed command does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
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
    arguments: Sequence[object], environment: Mapping[str, str] = os.environ, limit_s: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a command line to its end; the result has what it prints."""
    words = [str(argument) for argument in arguments]
    context = get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    with TemporaryDirectory() as folder:
        printed = {1: Path(folder, "output"), 2: Path(folder, "errors")}
        for path in printed.values():
            path.touch()
        process = context.Process(target=_become, args=(words, dict(environment), printed))
        process.start()
        process.join(limit_s)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(words, limit_s)
        output, errors = (path.read_text() for path in printed.values())
    return subprocess.CompletedProcess(words, process.exitcode, output, errors)


def _become(
    arguments: Sequence[str], environment: Mapping[str, str], printed: Mapping[int, Path]
) -> None:
    """In the new process: be the command with these arguments, and exit."""
    from numascape.cli.entry import main

    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, path in printed.items():
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.argv = ["numascape", *arguments]
    main()
