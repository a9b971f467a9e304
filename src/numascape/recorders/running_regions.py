# SPDX-License-Identifier: Apache-2.0
"""Records which memory a running process uses, with the kernel's DAMON. Threads are unknown."""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.errors import NumascapeError
from numascape.installation import installed_version
from numascape.live.mappings import read_mappings
from numascape.live.page_sets import listed_pages
from numascape.live.parts import Namer, Part
from numascape.live.targets import TargetProcess, target_of
from numascape.live.threads import read_threads
from numascape.machine.sources import read_host
from numascape.quantities import bytes_text, counted, percent
from numascape.recorders.damon import CHECKS, MAX_FIRST, Monitor, watching
from numascape.recorders.process_time import ProcessTime
from numascape.recording.program import executable_of, started_as
from numascape.samples.regions import Pages, RegionAccesses, first_regions, region_tables
from numascape.signals import signals_noted
from numascape.trace.format import PAGE_BYTES
from numascape.trace.host import this_host
from numascape.trace.info import Process, Recorder, Times, Totals, TraceInfo

# The least time between two readings, because listing the regions takes milliseconds.
_INTERVAL_S: Final = 0.5
_POLL_S: Final = 0.05

Numbers = npt.NDArray[np.uint64]


@dataclass
class _Watched:
    """The observations of the process."""

    target: TargetProcess
    seen: list[RegionAccesses] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    regions: list[int] = field(default_factory=list)
    """The sizes of all regions."""
    sample_us: int = 0
    cost: float = 0.0
    """The use of CPUs by the kernel's thread."""
    seconds: float = 0.0
    used: ProcessTime = field(init=False)

    def __post_init__(self) -> None:
        self.used = ProcessTime(self.target.pid)

    def name(self) -> None:
        """Name the memory of the process as it is now."""
        mappings = read_mappings(self.target, with_policies=False)
        if mappings:
            self.parts = Namer(self.target).parts(mappings, read_threads(self.target))

    def note_regions(self, monitor: Monitor, began: float) -> None:
        self.used.look()
        found = monitor.regions()
        if len(found.starts):
            elapsed = round((time.monotonic() - began) * 1e9)
            self.seen.append(RegionAccesses(elapsed, found.starts, found.ends, found.accesses))
            self.regions += (found.ends - found.starts).tolist()
            self.cost = monitor.cost()


def record_regions(
    pid: int,
    command: list[str],
    seconds: float | None,
    every: float | None,
    begins: Callable[[], None],
) -> tuple[dict[str, pl.DataFrame], TraceInfo]:
    """Record until `seconds`, an interruption, or the end of the process; return the trace.

    `begins` is called when DAMON looks. Raises NumascapeError if DAMON cannot be used, or if the
    process used no memory.
    """
    target = target_of(pid)
    if target is None:
        raise NumascapeError(f"there is no process {pid}")
    started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    watched = _Watched(target)
    watched.name()
    program = executable_of(target.folder) or command[0]
    _watch(watched, seconds, begins)
    require_use(target, watched.seen, watched.seconds)
    slice_ns = None if every is None else round(every * 1e9)
    tables = region_tables(watched.seen, watched.parts, _pages_of(target), slice_ns)
    return tables, _info(watched, tables, program, command, started)


def require_use(target: TargetProcess, seen: Sequence[RegionAccesses], seconds: float) -> None:
    """Raise NumascapeError if no access was seen in these seconds."""
    if not any(one.accesses.any() for one in seen):
        raise NumascapeError(
            f"{target} used no memory that DAMON saw in {seconds:.1f} s: record longer (--seconds)"
        )


def _watch(watched: _Watched, seconds: float | None, begins: Callable[[], None]) -> None:
    target = watched.target
    first = first_regions([(part.start, part.end) for part in watched.parts], MAX_FIRST)
    with signals_noted() as noted, watching(target, first) as monitor:
        begins()
        began = time.monotonic()
        end = float("inf") if seconds is None else began + seconds
        following = began + monitor.aggregation_s
        while target.is_alive and not noted.came and (now := time.monotonic()) < end:
            if now < following:
                time.sleep(min(_POLL_S, following - now, end - now))
                continue
            watched.note_regions(monitor, began)
            monitor.check_less_often()
            following = time.monotonic() + max(_INTERVAL_S, monitor.aggregation_s)
        watched.seconds = time.monotonic() - began
        watched.sample_us = monitor.sample_us
        if target.is_alive:
            watched.note_regions(monitor, began)
            watched.name()


def _pages_of(target: TargetProcess) -> Pages:
    """The function that lists the pages of a part; none once the process has ended."""

    def pages(part: Part) -> tuple[Numbers, npt.NDArray[np.int32]]:
        try:
            listed = [*listed_pages(target, part)]
        except NumascapeError:
            listed = []
        none = (np.array([], np.uint64), np.array([], np.int32))
        found = [_in_small_pages(*one) for one in listed] or [none]
        addresses, nodes = zip(*found, strict=True)
        return np.concatenate(addresses), np.concatenate(nodes)

    return pages


def _in_small_pages(
    addresses: Numbers, sizes: npt.NDArray[np.uint32], nodes: npt.NDArray[np.int32]
) -> tuple[Numbers, npt.NDArray[np.int32]]:
    """Pages of any size as pages of 4 KiB."""
    count = (sizes // PAGE_BYTES).astype(np.int64)
    first = np.repeat(np.cumsum(count) - count, count)
    within = (np.arange(count.sum()) - first).astype(np.uint64) * np.uint64(PAGE_BYTES)
    return np.repeat(addresses, count) + within, np.repeat(nodes, count)


def _info(
    watched: _Watched,
    tables: dict[str, pl.DataFrame],
    program: str,
    command: Sequence[str],
    started: str,
) -> TraceInfo:
    machine = read_host()
    places = tables["accesses"].select("structure", "instance", "page").n_unique()
    checks = CHECKS * len(watched.seen)
    return TraceInfo(
        program=started_as(program, command[0]),
        arguments=tuple(command[1:]),
        recorder=Recorder("damon", installed_version(), {}, "samples", checks, by_thread=False),
        host=this_host(Path("/"), platform.uname(), machine),
        machine=machine,
        page_size=PAGE_BYTES,
        started=started,
        times=Times(watched.seconds, watched.used.seconds),
        exit_status=None,
        processes=(Process(0, watched.target.pid, program),),
        totals=Totals(int(tables["accesses"]["reads"].sum()), 0, places, 1),
        attributed_share=1.0,
        unseen=tuple(_unseen(watched, checks)),
    )


def _unseen(watched: _Watched, checks: int) -> list[str]:
    sizes = sorted(watched.regions)
    return [
        "DAMON, a monitor of the kernel, does not report which thread accesses memory, or from "
        "which source line. All accesses are shown as those of one thread, and all count as reads.",
        "DAMON divides the memory into regions, and checks one page of each region every "
        f"{watched.sample_us // 1000} ms. A page that was accessed once since the last check "
        "counts as much as one that was accessed a million times. There were "
        f"{counted(checks, 'check')}.",
        "All pages of a region count as its checked one. Half of the regions were larger than "
        f"{bytes_text(sizes[len(sizes) // 2])}.",
        f"The kernel's thread used {percent(watched.cost)} of one CPU meanwhile.",
    ]
