# SPDX-License-Identifier: Apache-2.0
"""The binary recorder: runs an unmodified executable under our DynamoRIO client."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.cpu_sampler import CpuSampler
from numascape.recorders.session import Ended, Session

# The launcher leaves its reason here when it could not start the program.
_LAUNCH_ERROR = "launch-error"


def client_options(session: Session) -> str:
    """The client's options, as its launcher passes them on."""
    return "" if session.stack else "-no-stack"


def run(session: Session) -> Ended:
    """Run the session's program recorded, on our own terminal and streams, until it ends.

    Raises NumascapeError when it could not be started.
    """
    home = installed_file("_recorder")
    command = [
        str(home / "numascape-launch"),
        str(home),
        str(session.folder),
        client_options(session),
        "--",
        *session.program,
    ]
    begin = time.monotonic()
    with _signals_passed_on() as children:
        child = subprocess.Popen(command)
        children.append(child.pid)
        with CpuSampler(session.folder) as sampler:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
    code = child.returncode
    if not session.shards():
        raise NumascapeError(_why_not_started(session, code))
    return Ended(
        exit_status=code if code >= 0 else 128 - code,
        signal=-code if code < 0 else None,
        wall_s=time.monotonic() - begin,
        cpu_s=usage.ru_utime + usage.ru_stime,
        cpus=sampler.cpus(),
    )


def _why_not_started(session: Session, code: int) -> str:
    try:
        return (session.folder / _LAUNCH_ERROR).read_text(errors="replace").strip()
    except OSError:
        return f"{session.program[0]} ended with status {code} before it could be recorded"


@contextmanager
def _signals_passed_on() -> Iterator[list[int]]:
    """Signals to us are the program's.

    The terminal sends its own (Ctrl-C, Ctrl-\\) to the program as well: those we only survive.
    Others (kill, a batch system's SIGTERM) are sent on to the processes in the list.
    """
    children: list[int] = []

    def survive(_number: int, _frame: FrameType | None) -> None:
        pass

    def send_on(number: int, _frame: FrameType | None) -> None:
        for pid in children:
            os.kill(pid, number)

    handlers = {
        signal.SIGINT: survive,
        signal.SIGQUIT: survive,
        signal.SIGTERM: send_on,
        signal.SIGHUP: send_on,
        signal.SIGUSR1: send_on,
        signal.SIGUSR2: send_on,
    }
    # A signal that is ignored stays so for the program too (nohup).
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def name_of_process(pid: int) -> str:
    """The name of a running process; NumascapeError when there is none."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError as error:
        raise NumascapeError(f"there is no process {pid}") from error


def attach(session: Session, pid: int, seconds: float | None) -> Ended:
    """Record a running process for `seconds`, or until it ends."""
    raise NumascapeError("attaching is not available yet")
