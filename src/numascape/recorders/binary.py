# SPDX-License-Identifier: Apache-2.0
"""The binary recorder: runs an unmodified executable under our DynamoRIO client."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.cpu_sampler import CpuSampler
from numascape.recorders.session import Ended, Session

# The launcher leaves its reason here when it could not start the program.
_LAUNCH_ERROR = "launch-error"


def client_options(session: Session) -> str:
    """The client's options, as its launcher passes them on."""
    options = [] if session.stack else ["-no-stack"]
    if not session.lines:
        options.append("-no-lines")
    if session.every_s is not None or session.phases in ("marks", "none"):
        options.append("-no-regions")
    if session.every_s is not None or session.phases in ("regions", "none"):
        options.append("-no-marks")
    if session.every_s is not None:
        options.append(f"-every {round(session.every_s * 1e9)}")
    return " ".join(options)


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
    with signals_passed_on() as children:
        child = subprocess.Popen(command)
        children.append(child.pid)
        with CpuSampler(session.folder) as sampler:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
    code = child.returncode
    if not session.shards():
        raise NumascapeError(why_not_started(session, session.program[0], code))
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
