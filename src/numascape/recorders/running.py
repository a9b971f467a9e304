# SPDX-License-Identifier: Apache-2.0
"""Runs the recorded program as a child, on our own terminal and streams."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence

from numascape.errors import NumascapeError
from numascape.recorders.cpu_sampler import CpuSampler
from numascape.recorders.session import Ended, Session
from numascape.signals import signals_passed_on

# The launcher leaves its reason here when it could not start the program.
_LAUNCH_ERROR = "launch-error"


def run_command(
    session: Session, command: Sequence[str], environment: Mapping[str, str] | None = None
) -> Ended:
    """Run `command`, which records the session's program, until it ends.

    Raises NumascapeError when it could not be started.
    """
    begin = time.monotonic()
    with signals_passed_on() as children:
        try:
            child = subprocess.Popen(command, env=environment)
        except OSError as error:
            raise NumascapeError(f"cannot run {session.program[0]}: {error.strerror}") from error
        children.append(child.pid)
        with CpuSampler(session.folder) as sampler:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
    code = child.returncode
    return Ended(
        exit_status=code if code >= 0 else 128 - code,
        signal=-code if code < 0 else None,
        wall_s=time.monotonic() - begin,
        cpu_s=usage.ru_utime + usage.ru_stime,
        cpus=sampler.cpus(),
    )


def why_not_started(session: Session, what: str, code: int) -> str:
    """The launcher's reason for not recording `what`, after it ended with `code`."""
    return launch_error(session) or (f"{what} ended with status {code} before it could be recorded")


def launch_error(session: Session) -> str:
    """The launcher's own reason for not recording; empty when it left none."""
    try:
        return (session.folder / _LAUNCH_ERROR).read_text(errors="replace").strip()
    except OSError:
        return ""
