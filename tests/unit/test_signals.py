# SPDX-License-Identifier: Apache-2.0
"""Signals that arrive while Numascape waits for a program are forwarded to the program."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from interrupts import receive_interrupts
from numascape.signals import signals_noted, signals_passed_on

pytestmark = pytest.mark.program

# A handler in Python would run only after the current call. A signal that arrives shortly before a
# call that waits would be handled at the end of that call.
PROGRAM = """
import signal, sys
statuses = {signal.SIGUSR1: 5, signal.SIGINT: 6}
signal.pthread_sigmask(signal.SIG_BLOCK, statuses)
print("ready", flush=True)
sys.exit(statuses[signal.sigwait(statuses)])
"""


@contextmanager
def a_program() -> Iterator[subprocess.Popen[str]]:
    """A program that ends with 5 when it gets SIGUSR1, with 6 at SIGINT, and waits already."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as it:
        try:
            assert it.stdout is not None
            assert it.stdout.readline() == "ready\n"
            yield it
        finally:
            it.kill()


def test_tests_in_the_background_receive_interrupts() -> None:
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    receive_interrupts()
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


def test_a_signal_is_sent_on() -> None:
    with signals_passed_on() as receiver, a_program() as program:
        receiver.becomes(program.pid)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert program.wait(300) == 5


def test_an_interrupt_for_us_alone_is_sent_on() -> None:
    with signals_passed_on() as receiver, a_program() as program:
        receiver.becomes(program.pid)
        os.kill(os.getpid(), signal.SIGINT)
        assert program.wait(300) == 6


# It prints "int" for each interrupt, until a line is typed.
COUNTING = """
import os, select, signal
read, write = os.pipe()
os.set_blocking(write, False)
signal.signal(signal.SIGINT, lambda *_: None)
signal.set_wakeup_fd(write)
print("ready", flush=True)
ready = []
while 0 not in ready:
    ready = select.select([0, read], [], [])[0]
    if read in ready:
        os.write(1, b"int" * len(os.read(read, 100)))
"""
LAUNCHER = f"""
import subprocess, sys
from numascape.signals import signals_noted, signals_passed_on

with signals_passed_on() as receiver:
    child = subprocess.Popen([sys.executable, "-c", {COUNTING!r}])
    receiver.becomes(child.pid)
    child.wait()
"""


def test_the_terminals_interrupt_reaches_the_program_once() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", LAUNCHER])
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    while b"int" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\n")  # only now does the program end
    with suppress(OSError):  # the terminal is closed with it
        while more := os.read(terminal, 1000):
            said += more
    os.close(terminal)
    os.waitpid(pid, 0)
    assert said.count(b"int") == 1


def test_a_signal_from_before_the_program_is_known_is_sent_on() -> None:
    with signals_passed_on() as receiver, a_program() as program:
        os.kill(os.getpid(), signal.SIGUSR1)
        receiver.becomes(program.pid)
        assert program.wait(300) == 5


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


def test_signals_that_end_a_command_are_only_noted() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Under nohup, SIGHUP is ignored from the start.
        before = signal.signal(number, signal.SIG_DFL)
        try:
            with signals_noted() as noted:
                os.kill(os.getpid(), number)
                assert noted.came
        finally:
            signal.signal(number, before)


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_noted() as noted:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not noted.came
    finally:
        signal.signal(signal.SIGHUP, before)
