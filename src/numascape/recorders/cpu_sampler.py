# SPDX-License-Identifier: Apache-2.0
"""Samples, from outside, on which CPU each recorded thread runs."""

from __future__ import annotations

import os
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
    """While entered, notes the CPUs of all threads of the processes whose shards are in `folder`."""

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
            names = os.listdir(self._folder)
        except OSError:
            return set()
        return {name.split("-")[0] for name in names if name.endswith(".shard")}

    def _sample_process(self, pid: str) -> None:
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            return  # it has ended
        for thread in threads:
            try:
                with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                self._seen[f"{pid}/{thread}"].add(int(fields[_PROCESSOR_FIELD]))
            except (OSError, IndexError, ValueError):
                continue
