# SPDX-License-Identifier: Apache-2.0
"""Runs the user's program as a child, on our own terminal and streams."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from numascape.child import start_child
from numascape.environment import users_environment
from numascape.errors import NumascapeError
from numascape.recorders.cpu_sampler import CpuSampler
from numascape.recording.session import Ended, Session
from numascape.signals import signals_passed_on

# The file in which the launcher says why it could not start the program.
_LAUNCH_ERROR = "launch-error"


def run_command(
    session: Session, command: Sequence[str], environment: Mapping[str, str] | None = None
) -> Ended:
    """Run `command`, which records the session's program, until it ends.

    Raises NumascapeError if it could not be started.
    """
    sampler = CpuSampler(session.folder)
    ended = _run(session.program[0], command, environment, sampler)
    return replace(ended, cpus=sampler.cpus())


def run_natively(program: Sequence[str]) -> float:
    """Run the program without recording, until it ends; return its CPU time in seconds.

    Raises NumascapeError if it could not be started, or if a signal ended it.
    """
    ended = _run(program[0], program, None, nullcontext())
    if ended.signal is not None:
        raise NumascapeError(
            f"signal {ended.signal} ended {program[0]} while it ran without recording; nothing was "
            "recorded"
        )
    return ended.cpu_s


def _run(
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str] | None,
    meanwhile: AbstractContextManager[object],
) -> Ended:
    begin = time.monotonic()
    with signals_passed_on() as receiver:
        try:
            child = start_child(command, environment or users_environment())
        except OSError as error:
            raise NumascapeError(f"cannot run {name}: {error.strerror}") from error
        receiver.becomes(child.pid)
        with meanwhile:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
    code = child.returncode
    return Ended(
        exit_status=code if code >= 0 else 128 - code,
        signal=-code if code < 0 else None,
        wall_s=time.monotonic() - begin,
        cpu_s=usage.ru_utime + usage.ru_stime,
    )


def why_not_started(session: Session, what: str, code: int) -> str:
    """The launcher's reason for not recording `what`; its exit code was `code`."""
    return launch_error(session) or (f"{what} ended with status {code} before it could be recorded")


def launch_error(session: Session) -> str:
    """Return the reason that the launcher gave for not recording; empty if it gave none."""
    try:
        return (session.folder / _LAUNCH_ERROR).read_text(errors="replace").strip()
    except OSError:
        return ""
