# SPDX-License-Identifier: Apache-2.0
"""Signals that come while Numascape waits for a program are the program's."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from numascape.signals import signals_passed_on

PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(5))
print("ready", flush=True)
time.sleep(60)
"""


@contextmanager
def a_program() -> Iterator[subprocess.Popen[str]]:
    """A program that ends with 5 when it gets SIGUSR1, and waits for it already."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as it:
        try:
            assert it.stdout is not None
            assert it.stdout.readline() == "ready\n"
            yield it
        finally:
            it.kill()


def test_a_signal_is_sent_on() -> None:
    with signals_passed_on() as receiver, a_program() as program:
        receiver.becomes(program.pid)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert program.wait(30) == 5


def test_a_signal_from_before_the_program_is_known_is_sent_on() -> None:
    with signals_passed_on() as receiver, a_program() as program:
        os.kill(os.getpid(), signal.SIGUSR1)
        receiver.becomes(program.pid)
        assert program.wait(30) == 5


def test_a_signal_for_a_program_that_has_ended_does_nothing() -> None:
    with signals_passed_on() as receiver:
        with a_program() as program:
            receiver.becomes(program.pid)
        os.kill(os.getpid(), signal.SIGUSR1)


def test_afterwards_signals_are_ours_again() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with signals_passed_on():
        assert signal.getsignal(signal.SIGUSR1) != before
    assert signal.getsignal(signal.SIGUSR1) == before
