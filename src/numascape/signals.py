# SPDX-License-Identifier: Apache-2.0
"""Signals to Numascape while it waits for a user's program are that program's."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


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
