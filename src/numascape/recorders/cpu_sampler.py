# SPDX-License-Identifier: Apache-2.0
"""Samples, from outside, on which CPU each recorded thread runs."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

_INTERVAL_S = 0.05
# With many threads a round takes long: then the interval grows, so that sampling stays a fiftieth
# of one CPU; but only so far, since one slow round must not hide where threads ran for long.
_MOST_SHARE = 0.02
_LONGEST_INTERVAL_S = 2.0
# By then, a thread that binds itself has mostly done so. Time on a CPU, not since it was made: on a
# busy machine it may wait long for its first time.
_BINDING_S = 0.1
# Of a thread's time after that, on each CPU that counts: what is less may still have been before
# it bound itself.
_LEAST_SHARE = 0.1
# Of /proc/PID/task/TID/stat, counted after the name (proc(5): fields 14, 15 and 39).
_TIME_FIELDS = slice(11, 13)  # in the program and in the kernel; each in _TICK_S
_PROCESSOR_FIELD = 36
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class CpuSampler:
    """While entered, notes the CPUs of all threads of the processes with shards in `folder`.

    Where a thread is before it ran for a while is left out, for it may be about to bind itself, and
    so is where it ran for hardly any of its time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ran: dict[str, float] = {}  # seconds, when it was seen last
        self._seen: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_stopped, daemon=True)

    def __enter__(self) -> CpuSampler:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def cpus(self) -> dict[str, list[int]]:
        """The CPUs seen, ascending, by "PID/TID"."""
        return {thread: cpus_that_count(seconds) for thread, seconds in self._seen.items()}

    def _sample_until_stopped(self) -> None:
        interval = _INTERVAL_S
        while not self._stop.wait(interval):
            begin = time.thread_time()
            for pid in self._processes():
                self._sample_process(pid)
            wanted = (time.thread_time() - begin) / _MOST_SHARE
            interval = min(max(_INTERVAL_S, wanted), _LONGEST_INTERVAL_S)

    def _processes(self) -> set[str]:
        try:
            return {path.name.split("-")[0] for path in self._folder.glob("*.shard")}
        except OSError:
            return set()

    def _sample_process(self, pid: str) -> None:
        try:
            threads = list(Path(f"/proc/{pid}/task").iterdir())
        except OSError:
            return  # it has ended
        for thread in threads:
            found = _cpu_of(thread)
            if found is None:
                continue
            key = f"{pid}/{thread.name}"
            cpu, ran = found
            if ran >= _BINDING_S:
                # What it ran before it was seen at all may have been anywhere.
                self._seen[key][cpu] += ran - self._ran.get(key, max(_BINDING_S, ran - _INTERVAL_S))
                self._ran[key] = ran


def cpus_that_count(seconds: Mapping[int, float]) -> list[int]:
    """The CPUs, ascending, that had a good part of the `seconds` by CPU."""
    least = _LEAST_SHARE * sum(seconds.values())
    return sorted(cpu for cpu, spent in seconds.items() if spent >= least)


def _cpu_of(thread: Path) -> tuple[int, float] | None:
    """Where a thread last ran, and seconds in all, from its folder in /proc; None if it ended."""
    try:
        fields = (thread / "stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[_PROCESSOR_FIELD]), sum(map(int, fields[_TIME_FIELDS])) * _TICK_S
    except (OSError, IndexError, ValueError):
        return None
