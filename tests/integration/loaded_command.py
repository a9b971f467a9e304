# SPDX-License-Identifier: Apache-2.0
"""Runs `numascape` in processes that have its modules loaded already.

Loading them takes 0.6 s of CPU time, twice as much as everything else in a small recording. Each
process is a forked copy of one that has only loaded them, and then does what the installed command
does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory

_LOADED = [
    "numascape.cli.entry",
    "numascape.cli.app",
    *(f"numascape.commands.{verb}" for verb in ("advise", "compare", "record", "report", "show")),
    "numascape.console.overview",
    "numascape.findings",
    "numascape.report",
    "numascape.recorders.record",
    "numascape.conversion.convert",
    "numascape.trace.write",
    "numascape.trace.write_part",
]


@dataclass(frozen=True)
class LoadedCommand:
    """A running command, and the files with what it prints."""

    process: BaseProcess
    output: Path
    errors: Path

    def wait(self, limit_s: float) -> int:
        """Its exit status, with the numbers that `subprocess` uses."""
        self.process.join(limit_s)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired("numascape", limit_s)
        return self.process.exitcode


@contextmanager
def loaded(
    arguments: Sequence[object],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[LoadedCommand]:
    """Run a command line in this folder; it is killed at the end if it still runs."""
    words = [str(argument) for argument in arguments]
    given = dict(os.environ if environment is None else environment)
    context = get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    with TemporaryDirectory() as printed:
        files = Path(printed, "output"), Path(printed, "errors")
        for path in files:
            path.touch()
        process = context.Process(target=_become, args=(words, given, files, folder or Path.cwd()))
        process.start()
        try:
            yield LoadedCommand(process, *files)
        finally:
            if process.exitcode is None:  # with the program, which is in its session
                with suppress(ProcessLookupError):
                    os.killpg(process.pid or 0, signal.SIGKILL)
                process.kill()
                process.join()


def run_loaded(
    arguments: Sequence[object],
    environment: Mapping[str, str] | None = None,
    limit_s: float = 300,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command line to its end, in this folder; the result has its output."""
    with loaded(arguments, environment, folder) as command:
        status = command.wait(limit_s)
        output, errors = command.output.read_text(), command.errors.read_text()
    return subprocess.CompletedProcess(list(map(str, arguments)), status, output, errors)


def _become(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    printed: Sequence[Path],
    folder: Path,
) -> None:
    """In the new process: be the command with these arguments, and exit."""
    from numascape.cli.entry import main

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, path in enumerate(printed, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.argv = ["numascape", *arguments]
    main()
