# SPDX-License-Identifier: Apache-2.0
"""The sender of a signal: src/native/bindings/signals.cpp."""

def note_senders(number: int) -> None:
    """Note the sender of this signal from now on, after signal.signal() has set a function.

    Setting another function ends it. Raises ValueError if the signal has no function.
    """

def is_of_a_process(number: int) -> bool:
    """Whether a process, and not the kernel, sent the last noted signal."""
