# SPDX-License-Identifier: Apache-2.0
"""Waiting for programs, also on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

# Long enough for a busy machine; a program that takes longer hangs.
LIMIT_S = 480


def wait_for(condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    """Return when the condition is true; the error names the condition."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {limit_s} s")
        time.sleep(0.02)
