# SPDX-License-Identifier: Apache-2.0
"""The CPU time of a running process."""

from __future__ import annotations

import os
from pathlib import Path


class ProcessTime:
    """The CPU time that a process uses from now on, in user mode and in the kernel."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._begin = _cpu_s(pid)
        self._last = self._begin

    def look(self) -> None:
        """Read it; the time of a process is unknown once the process has ended."""
        now = _cpu_s(self._pid)
        self._last = self._last if now is None else now

    @property
    def seconds(self) -> float | None:
        """The time until the last look; None if it was never known."""
        if self._begin is None or self._last is None:
            return None
        return max(0.0, self._last - self._begin)


def _cpu_s(pid: int) -> float | None:
    """User and system time of the process so far (proc(5): fields 14 and 15 of stat)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
    except (OSError, IndexError, ValueError):
        return None
    return ticks / os.sysconf("SC_CLK_TCK")
