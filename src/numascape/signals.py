# SPDX-License-Identifier: Apache-2.0
"""Signals to Numascape while it waits for a user's program are that program's."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


class Receiver:
    """The process that gets our signals; those from before it is known, as soon as it is."""

    def __init__(self) -> None:
        self._pid: int | None = None
        self._early: list[int] = []

    def becomes(self, pid: int) -> None:
        """Process `pid` gets all signals, also those of before."""
        self._pid = pid
        while self._early:
            self.send(self._early.pop(0))

    def send(self, number: int) -> None:
        """Send a signal to the process, or keep it; nothing happens when it has ended."""
        if self._pid is None:
            self._early.append(number)
            return
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)


@contextmanager
def signals_passed_on() -> Iterator[Receiver]:
    """Signals to us are the program's.

    The terminal sends its own (interrupt, quit) to the program as well: those we only survive.
    Others (kill, a batch system's SIGTERM) are sent on to the receiver.
    """
    receiver = Receiver()

    def survive(_number: int, _frame: FrameType | None) -> None:
        pass

    def send_on(number: int, _frame: FrameType | None) -> None:
        receiver.send(number)

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
        yield receiver
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
