# SPDX-License-Identifier: Apache-2.0
"""Samples, from outside, on which CPU each recorded thread runs."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from pathlib import Path
from types import TracebackType

_INTERVAL_S = 0.05
# With many threads a round takes long: then the interval grows, so that sampling stays a fiftieth
# of one CPU.
_MOST_SHARE = 0.02
_PROCESSOR_FIELD = 36  # of /proc/PID/task/TID/stat, counted after the name (proc(5): field 39)


class CpuSampler:
    """While entered, notes the CPUs of all threads of the processes with shards in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, set[int]] = defaultdict(set)
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
        return {thread: sorted(cpus) for thread, cpus in self._seen.items()}

    def _sample_until_stopped(self) -> None:
        interval = _INTERVAL_S
        while not self._stop.wait(interval):
            begin = time.thread_time()
            for pid in self._processes():
                self._sample_process(pid)
            interval = max(_INTERVAL_S, (time.thread_time() - begin) / _MOST_SHARE)

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
            cpu = _cpu_of(thread)
            if cpu is not None:
                self._seen[f"{pid}/{thread.name}"].add(cpu)


def _cpu_of(thread: Path) -> int | None:
    """The CPU a thread last ran on, from its folder in /proc; None when it has ended."""
    try:
        return int((thread / "stat").read_bytes().rpartition(b")")[2].split()[_PROCESSOR_FIELD])
    except (OSError, IndexError, ValueError):
        return None
