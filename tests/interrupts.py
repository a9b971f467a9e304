# SPDX-License-Identifier: Apache-2.0
"""Interrupts (SIGINT) reach the tests and their programs, however the tests were started."""

import signal


def receive_interrupts() -> None:
    """Stop ignoring interrupts.

    If a script starts the tests in the background (`make test &`), they ignore interrupts, and so
    would every program that a test starts.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
