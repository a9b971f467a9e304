# SPDX-License-Identifier: Apache-2.0
"""Prints the processor time of the tests of each file, with all processes that they start.

It hardly depends on what else runs on the machine. `--durations` prints it, too.
"""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_NAME = "processor time in s"
_FILES = 40


def spent_s() -> float:
    """The time of this process, of its ended children, and of its living children."""
    ended = sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    return ended + sum(_of_living(child) for child in _children(os.getpid()))


def _children(process: int) -> list[int]:
    with suppress(OSError):
        threads = Path(f"/proc/{process}/task").iterdir()
        return [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]
    return []


def _of_living(process: int) -> float:
    try:
        # After the name in brackets: utime and stime, then both times of the ended children.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
    except OSError:  # it has just ended
        return 0.0
    return sum(map(int, fields)) / _TICKS_PER_S + sum(map(_of_living, _children(process)))


class ProcessorTimes:
    """A plugin: measures where tests run, adds up where reports arrive."""

    def __init__(self) -> None:
        self._before_s = 0.0
        self._files: dict[str, float] = defaultdict(float)

    def pytest_collection_finish(self) -> None:
        self._before_s = spent_s()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> None:
        """Add the time since the last report to the next report."""
        now_s = spent_s()
        item.user_properties[:] = [(_NAME, now_s - self._before_s)]
        self._before_s = now_s

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file, _, _ = report.nodeid.partition("::")
        for name, value in report.user_properties:
            if name == _NAME and isinstance(value, float):
                self._files[file] += value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total_s = sum(self._files.values())
        terminalreporter.section(f"processor time: {total_s:.0f} s, by file")
        for file in sorted(self._files, key=self._files.__getitem__, reverse=True)[:_FILES]:
            terminalreporter.write_line(f"{self._files[file]:8.1f} s  {file}")
