# SPDX-License-Identifier: Apache-2.0
"""Runs the recorded program as a child, on our own terminal and streams."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from numascape.errors import NumascapeError
from numascape.recorders.cpu_sampler import CpuSampler
from numascape.recorders.session import Ended, Session

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
    try:
        return (session.folder / _LAUNCH_ERROR).read_text(errors="replace").strip()
    except OSError:
        return f"{what} ended with status {code} before it could be recorded"


@contextmanager
def signals_passed_on() -> Iterator[list[int]]:
    """Signals to us are the program's.

    The terminal sends its own (interrupt, quit) to the program as well: those we only survive.
    Others (kill, a batch system's SIGTERM) are sent on to the processes in the list.
    """
    children: list[int] = []

    def survive(_number: int, _frame: FrameType | None) -> None:
        pass

    def send_on(number: int, _frame: FrameType | None) -> None:
        for pid in children:
            with suppress(ProcessLookupError):
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
