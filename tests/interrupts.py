# SPDX-License-Identifier: Apache-2.0
"""Interrupts (SIGINT) reach the tests and their programs, however the tests were started."""

import signal


def receive_interrupts() -> None:
    """Stop ignoring interrupts.

    A script that starts the tests in the background (`make test &`) makes them ignore interrupts,
    and every program that a test starts would ignore them, too.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
