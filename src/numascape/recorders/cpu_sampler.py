# SPDX-License-Identifier: Apache-2.0
"""Samples the CPU of each recorded thread, from outside of the process."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from numascape.recorders.process_time import cpu_s_in, stat_fields

_INTERVAL_S = 0.05
# With many threads, a round takes long. The interval then grows, so that sampling needs at most a
# fiftieth of one CPU. It is limited, so that one slow round does not leave a long gap.
_MAX_SHARE = 0.02
_LONGEST_INTERVAL_S = 2.0
# Most threads that bind themselves have done so after this CPU time. It is not the time since the
# thread was created, because a thread may wait long on a busy machine.
_BINDING_S = 0.1
# A CPU does not count if it has a smaller share of the thread's later time, because this part may
# be from before the thread bound itself.
_MIN_SHARE = 0.1
# The position among the fields of /proc/PID/task/TID/stat after the name (proc(5): field 39).
_PROCESSOR_FIELD = 36


class CpuSampler:
    """While entered, notes the CPUs of all threads of the processes with shards in `folder`.

    The first CPUs of a thread are left out, because the thread may bind itself shortly after its
    start. CPUs on which it ran for a very small part of its time are left out, too.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ran: dict[str, float] = {}  # CPU seconds when it was last seen
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
            wanted = (time.thread_time() - begin) / _MAX_SHARE
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
                # The CPUs are unknown for the time before the thread was first seen.
                self._seen[key][cpu] += ran - self._ran.get(key, max(_BINDING_S, ran - _INTERVAL_S))
                self._ran[key] = ran


def cpus_that_count(seconds: Mapping[int, float]) -> list[int]:
    """The CPUs, ascending, with a large enough share of the `seconds` by CPU."""
    least = _MIN_SHARE * sum(seconds.values())
    return sorted(cpu for cpu, spent in seconds.items() if spent >= least)


def _cpu_of(thread: Path) -> tuple[int, float] | None:
    """A thread's last CPU and its total seconds, from its folder in /proc; None if it has ended."""
    try:
        fields = stat_fields(thread / "stat")
        return int(fields[_PROCESSOR_FIELD]), cpu_s_in(fields)
    except (OSError, IndexError, ValueError):
        return None
