# SPDX-License-Identifier: Apache-2.0
"""Attaches the binary recorder to a running process, and detaches it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.binary import client_options
from numascape.recorders.cpu_sampler import CpuSampler
from numascape.recorders.process_time import ProcessTime
from numascape.recorders.running import launch_error, why_not_started
from numascape.recording.program import executable_of, without_title
from numascape.recording.session import Ended, Session
from numascape.signals import signals_passed_on

# The exit statuses of numascape-attach: a thread of the process cannot be reached; the process
# died, and launch-error says how; it was not released in time.
_UNREACHABLE = 1
_DIED = 2
_LATE = 3


def command_of_process(pid: int) -> list[str]:
    """The program and arguments of a running process; NumascapeError if there is none."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError as error:
        raise NumascapeError(f"there is no process {pid}") from error
    command = [word.decode(errors="surrogateescape") for word in words]
    if not command[0]:
        # The kernel is just starting the program, or the program has emptied its command line.
        if program := executable_of(Path(f"/proc/{pid}")):
            return [program]
        raise NumascapeError(
            f"process {pid} is part of the kernel, or its main thread ended: it cannot be recorded"
        )
    return without_title(command)


def attach(session: Session, pid: int, seconds: float | None) -> tuple[Ended, str]:
    """Record a running process for `seconds`, until it ends, or until we are interrupted.

    The text says what went wrong after recording had begun: the process died, or the recorder is
    still in it. It is empty if nothing did. Raises NumascapeError if it cannot be recorded.
    """
    home = installed_file("_recorder")
    command = [
        str(home / "numascape-attach"),
        str(home),
        str(session.folder),
        client_options(session.options),
        str(pid),
        str(seconds or 0),
    ]
    begin = time.monotonic()
    used = ProcessTime(pid)
    with signals_passed_on() as receiver:
        helper = subprocess.Popen(command)
        receiver.becomes(helper.pid)
        with CpuSampler(session.folder) as sampler:
            while helper.poll() is None:
                used.look()
                time.sleep(0.02)
    if not session.shards():
        raise NumascapeError(why_not_started(session, f"process {pid}", helper.returncode))
    ended = Ended(
        exit_status=None,  # only its parent gets it
        wall_s=time.monotonic() - begin,
        cpu_s=used.seconds or 0.0,
        cpus=sampler.cpus(),
    )
    return ended, _failure(session, pid, helper.returncode)


def _failure(session: Session, pid: int, status: int) -> str:
    if status == _DIED:
        return launch_error(session)
    if status == _LATE:
        return (
            f"the recorder has not left process {pid} yet, because the machine is busy, or you "
            "interrupted this: it leaves when all threads of the process have run"
        )
    if status == _UNREACHABLE:
        return (
            f"the recorder could not leave process {pid} within a minute, because a thread of it "
            "is stopped or sleeps in a system call: it leaves when this thread runs again"
        )
    return ""
