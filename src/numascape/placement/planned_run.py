# SPDX-License-Identifier: Apache-2.0
"""Runs an unmodified program under a plan: preloads the placer, and answers its questions."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numascape.child import start_child
from numascape.environment import users_environment
from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.placement.compiling import (
    check_host,
    compile_plan,
    thread_count,
    usable_resources,
)
from numascape.placement.programs import check_program
from numascape.placement.resolving import Resolver
from numascape.placement.serving import serving_resolver
from numascape.placement.verifying import Verification, read_reports
from numascape.plan.plan import Plan
from numascape.signals import signals_passed_on

_LIBRARY: Final = "_placer/libnumascape_placer.so"
_LONGEST_SOCKET: Final = 100  # sockaddr_un has 108 bytes


@dataclass(frozen=True)
class PlannedRun:
    """The exit status (negative: a signal), and the verification of the plan if wanted."""

    status: int
    verification: Verification | None


def run_with_plan(
    plan: Plan,
    name: str,
    program: Sequence[str],
    *,
    threads: int | None = None,
    verifies: bool = False,
    launcher: Sequence[str] = (),
) -> PlannedRun:
    """Run the program (and its children) under the plan, on our own terminal, until it ends.

    `name` is the source of the plan, for errors. `threads` is the program's number of threads; by
    default, that of the environment. `launcher` is a command that becomes the program. Raises
    NumascapeError if the program cannot run here, or not under the plan.
    """
    check_program(program[0])
    host = usable_resources()
    check_host(plan, host, name)
    environment = _environment(plan, threads)
    count = thread_count(plan, threads, environment, host)
    with _private_folder() as folder:
        socket = folder / "questions"
        compiled = compile_plan(plan, host, count, socket, folder, verifies)
        (folder / "plan").write_bytes(compiled.content)
        environment["NUMASCAPE_PLAN"] = str(folder / "plan")
        environment["LD_PRELOAD"] = _preloaded(folder, environment.get("LD_PRELOAD", ""))
        with serving_resolver(Resolver(plan.structures), socket):
            status = _run([*launcher, *program], environment)
        found = read_reports(folder, plan, compiled.masks) if verifies else None
    return PlannedRun(status, found)


def end_as(status: int) -> int:
    """The exit status of the program; ends this process by the same signal if there was one."""
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no second core file, from us
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status if status >= 0 else 128 - status


def _environment(plan: Plan, threads: int | None) -> dict[str, str]:
    """The given number of threads overrides the user's variables, and these override the plan."""
    environment = users_environment()
    if threads is not None:
        environment["OMP_NUM_THREADS"] = str(threads)
    return {**plan.environment, **environment}


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder that only this user can enter, with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="numascape-", ignore_cleanup_errors=True) as name:
        if len(os.fsencode(name)) < _LONGEST_SOCKET - len("/questions"):
            yield Path(name)
            return
    with tempfile.TemporaryDirectory(
        prefix="numascape-", dir="/tmp", ignore_cleanup_errors=True
    ) as name:
        yield Path(name)


def _preloaded(folder: Path, before: str) -> str:
    library = installed_file(_LIBRARY)
    if any(character in str(library) for character in " :"):  # separators in LD_PRELOAD
        link = folder / "placer.so"
        link.symlink_to(library)
        library = link
    return f"{library}:{before}" if before else str(library)


def _run(command: list[str], environment: dict[str, str]) -> int:
    with signals_passed_on() as receiver:
        try:
            child = start_child(command, environment)
        except OSError as error:
            raise NumascapeError(f"{command[0]} cannot be run: {error.strerror}") from error
        receiver.becomes(child.pid)
        return child.wait()
