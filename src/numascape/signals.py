# SPDX-License-Identifier: Apache-2.0
"""Forwards signals to the user's program while Numascape waits for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from numascape._native import signals as native


class Receiver:
    """Forwards our signals to a process. Earlier signals are kept until the process is known."""

    def __init__(self) -> None:
        self._pid: int | None = None
        self._early: list[int] = []

    def becomes(self, pid: int) -> None:
        """Send all signals, including earlier ones, to process `pid`."""
        self._pid = pid
        while self._early:
            self.send(self._early.pop(0))

    def send(self, number: int) -> None:
        """Send a signal to the process, or keep it; does nothing if the process has ended."""
        if self._pid is None:
            self._early.append(number)
            return
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)


@contextmanager
def signals_passed_on() -> Iterator[Receiver]:
    """Forward our signals to the program.

    The terminal sends its signals (interrupt, quit) to the program, too, so we only ignore them.
    Signals from processes (kill, a batch system's SIGTERM) are forwarded to the receiver.
    """
    receiver = Receiver()

    def send_on(number: int, _frame: FrameType | None) -> None:
        receiver.send(number)

    def send_on_unless_the_terminals(number: int, _frame: FrameType | None) -> None:
        if native.is_of_a_process(number):
            receiver.send(number)

    handlers = {
        signal.SIGINT: send_on_unless_the_terminals,
        signal.SIGQUIT: send_on_unless_the_terminals,
        signal.SIGTERM: send_on,
        signal.SIGHUP: send_on,
        signal.SIGUSR1: send_on,
        signal.SIGUSR2: send_on,
    }
    # A signal that is already ignored stays ignored for the program, too (nohup).
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) != signal.SIG_IGN
    }
    for number in before:
        native.note_senders(number)
    try:
        yield receiver
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
