# SPDX-License-Identifier: Apache-2.0
"""Signals: forwarded to the user's program while Numascape waits for it, or noted."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

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


class Noted:
    """Whether SIGINT, SIGTERM or SIGHUP came."""

    def __init__(self) -> None:
        self.came = False

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        self.came = True


@contextmanager
def signals_noted() -> Iterator[Noted]:
    """Only note SIGINT, SIGTERM and SIGHUP: what is being done ends at its next safe point.

    A SIGHUP that is ignored stays ignored (nohup).
    """
    noted = Noted()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, noted.note) for number in numbers}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_passed_on() -> Iterator[Receiver]:
    """Forward our signals to the program.

    The terminal sends its signals (interrupt, quit) to the program, too, so we only ignore them.
    Signals from processes (kill, a batch system's SIGTERM) are forwarded to the receiver. Inside
    `signals_noted`, they are noted as well.
    """
    receiver = Receiver()
    before: dict[int, Any] = {}

    def send_on(number: int, frame: FrameType | None) -> None:
        note(number, frame)
        receiver.send(number)

    def send_on_unless_the_terminals(number: int, frame: FrameType | None) -> None:
        note(number, frame)
        if native.is_of_a_process(number):
            receiver.send(number)

    def note(number: int, frame: FrameType | None) -> None:
        outer: Any = before.get(number)
        if isinstance(getattr(outer, "__self__", None), Noted):
            outer(number, frame)

    handlers: dict[int, Any] = {
        signal.SIGINT: send_on_unless_the_terminals,
        signal.SIGQUIT: send_on_unless_the_terminals,
        signal.SIGTERM: send_on,
        signal.SIGHUP: send_on,
        signal.SIGUSR1: send_on,
        signal.SIGUSR2: send_on,
    }
    # A signal that is already ignored stays ignored for the program, too (nohup).
    for wanted, handler in handlers.items():
        if signal.getsignal(wanted) != signal.SIG_IGN:
            before[wanted] = signal.signal(wanted, handler)
    for wanted in before:
        native.note_senders(wanted)
    try:
        yield receiver
    finally:
        for wanted, handler in before.items():
            signal.signal(wanted, handler)
