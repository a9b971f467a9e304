# SPDX-License-Identifier: Apache-2.0
"""The CPU time of a running process, and of a thread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


class ProcessTime:
    """The CPU time that a process uses from now on, in user mode and in the kernel."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._begin = cpu_s_so_far(pid)
        self._last = self._begin

    def look(self) -> None:
        """Read it; the time of a process is unknown once the process has ended."""
        now = cpu_s_so_far(self._pid)
        self._last = self._last if now is None else now

    @property
    def seconds(self) -> float | None:
        """The time until the last look; None if it was never known."""
        if self._begin is None or self._last is None:
            return None
        return max(0.0, self._last - self._begin)


def cpu_s_so_far(pid: int) -> float | None:
    """User and system time of a process, in seconds, without its children; None if it has ended."""
    try:
        return cpu_s_in(stat_fields(Path(f"/proc/{pid}/stat")))
    except (OSError, IndexError, ValueError):
        return None


def stat_fields(path: Path) -> list[bytes]:
    """The fields of a `stat` of a process or thread after its name, which may have brackets."""
    return path.read_bytes().rpartition(b")")[2].split()


def cpu_s_in(fields: Sequence[bytes]) -> float:
    """User and system time in such fields (proc(5): fields 14 and 15), in seconds."""
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
