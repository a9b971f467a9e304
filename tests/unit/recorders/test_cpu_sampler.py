# SPDX-License-Identifier: Apache-2.0
"""The CPUs on which a thread was seen."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from numascape.recorders.cpu_sampler import CpuSampler, cpus_that_count


def test_cpus_with_hardly_any_time_do_not_count() -> None:
    assert cpus_that_count({3: 2.0, 1: 0.1}) == [3]
    assert cpus_that_count({3: 2.0, 1: 0.3}) == [1, 3]
    assert cpus_that_count({2: 0.0}) == [2]
    assert cpus_that_count({}) == []


def test_a_thread_is_seen_once_it_ran(tmp_path: Path) -> None:
    (tmp_path / f"{os.getpid()}-0.shard").touch()
    done = threading.Event()
    idle = threading.Thread(target=done.wait)
    idle.start()
    (cpu,) = list(os.sched_getaffinity(0))[:1]
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})  # of this thread only
    try:
        own = f"{os.getpid()}/{threading.get_native_id()}"
        seen: dict[str, list[int]] = {}
        end = time.monotonic() + 60
        while own not in seen and time.monotonic() < end:  # on a busy machine, a round may be late
            with CpuSampler(tmp_path) as sampler:
                begin = time.thread_time()
                while time.thread_time() - begin < 0.3:
                    pass
            seen = sampler.cpus()
    finally:
        os.sched_setaffinity(0, before)
        done.set()
        idle.join()
    assert seen[own] == [cpu]
    assert f"{os.getpid()}/{idle.native_id}" not in seen
