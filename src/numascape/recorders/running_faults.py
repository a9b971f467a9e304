# SPDX-License-Identifier: Apache-2.0
"""Records page faults of a running process, only from outside of the process."""

from __future__ import annotations

import ctypes
import datetime
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from numascape._native import shard as native
from numascape.conversion.unseen import (
    unseen_of_clock,
    unseen_of_faults,
    unseen_of_page_faults,
    unseen_of_samples,
)
from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.machine.sources import read_host
from numascape.recorders.event_choice import is_clock
from numascape.recorders.process_time import ProcessTime
from numascape.recorders.sampled_events import SampledEvent, in_bursts
from numascape.recorders.thread_switches import switches_often
from numascape.recording.program import executable_of
from numascape.samples.events import (
    UNKNOWN_CALLERS,
    AccessKind,
    Event,
    Forked,
    NameGiven,
    RangeMapped,
    Recording,
    Sample,
)
from numascape.samples.tables import convert_samples
from numascape.signals import signals_passed_on
from numascape.trace.counting import count_moments, counts_of_faults
from numascape.trace.format import PAGE_BYTES
from numascape.trace.host import this_host
from numascape.trace.info import PAGE_FAULTS, TraceInfo

_INTERVAL_S = 0.05
# The share of a CPU for reading mappings and threads, because a process may have very many.
_LOOKING = 0.01
# The events; the second is for hinting faults of the kernel's NUMA balancing, and samples.
_EVENTS = ("page-faults", "sampled")
# The kind of an access, by whether it is known to be a write.
_KINDS: tuple[AccessKind, ...] = ("unknown", "write")
_MOVE_PAGES = 279  # move_pages(2); without target nodes, it only reports the nodes of pages
_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+\s*(.*)$")


_Key = tuple[int | str, ...]


@dataclass
class _Watched:
    """The known state of the process; a change is noted once, with the time of the look before."""

    pid: int
    events: list[Event] = field(default_factory=list)
    _seen: set[_Key] = field(default_factory=set)
    _maps: str = ""
    _before: int = field(default_factory=time.time_ns)
    used: ProcessTime = field(init=False)

    def __post_init__(self) -> None:
        self.used = ProcessTime(self.pid)

    def note_changes(self) -> None:
        now = time.time_ns()
        self.used.look()
        for key, event in (*self._mappings(), *self._threads()):
            if key not in self._seen:
                self._seen.add(key)
                self.events.append(event)
        self._before = now

    def _mappings(self) -> Iterator[tuple[_Key, RangeMapped]]:
        text = _text(Path(f"/proc/{self.pid}/maps"))
        changed, self._maps = text != self._maps, text
        if not changed:
            return
        executable = executable_of(Path(f"/proc/{self.pid}"))
        lines = [found for line in text.splitlines() if (found := _LINE.match(line))]
        # The first file names the process, but other files may have lower addresses.
        lines.sort(key=lambda found: found[4] != executable)
        for found in lines:
            start, end, offset = (int(found[i], 16) for i in (1, 2, 3))
            path = found[4] or "//anon"
            added = RangeMapped(self.pid, self._before, start, end, offset, path)
            yield (start, end, offset, path), added

    def _threads(self) -> Iterator[tuple[_Key, Forked | NameGiven]]:
        try:
            tasks = sorted(Path(f"/proc/{self.pid}/task").iterdir(), key=lambda t: int(t.name))
        except OSError:
            return
        for task in tasks:
            tid = int(task.name)
            yield (tid,), Forked(self.pid, tid, self.pid, self._before)
            for name in _text(task / "comm").splitlines():
                yield (tid, name), NameGiven(self.pid, tid, self._before, name, executed=False)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # it has ended


def pause_after(look_s: float) -> float:
    """The seconds to wait after a look that took so much CPU time."""
    return max(_INTERVAL_S, look_s / _LOOKING)


def record_running(
    pid: int,
    command: list[str],
    seconds: float | None,
    sampled: Sequence[SampledEvent] = (),
    every: float | None = None,
    begins: Callable[[], None] = lambda: None,
) -> tuple[dict[str, pl.DataFrame], TraceInfo]:
    """Record until `seconds`, an interruption, or the end of the process; return the trace.

    The page faults are recorded, and samples of the events. Samples of the clock come without page
    faults if it would cost the process much to observe these. With `every`, phases are time
    slices. `begins` is called when the kernel reports the events.
    Raises NumascapeError if the kernel does not allow it, or if nothing was touched.
    """
    started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    watched = _Watched(pid)
    watched.note_changes()
    with_faults = not (is_clock(sampled) and switches_often(pid))
    if not with_faults:
        sampled = [in_bursts(event) for event in sampled]
    log = _log_of(watched, seconds, sampled, with_faults, begins)
    events = pl.DataFrame(log["events"]).with_columns(
        page=pl.col("address") // PAGE_BYTES * PAGE_BYTES,
        is_hinting=pl.col("meaning") == native.FAULT_HINTING,
    )
    nodes = _nodes(pid, events["page"].unique().sort().to_numpy())
    is_hinting = events["is_hinting"]
    hinting = int(is_hinting.sum())
    counts = "samples" if sampled else counts_of_faults(hinting)
    kept = events.filter(pl.col("meaning") != native.FAULT_OTHER)
    if counts != "samples":
        kept = kept.filter(~pl.col("is_hinting"))
    faults = _samples(pid, kept, nodes, pl.DataFrame(log["calls"]))
    if not faults:
        raise NumascapeError(
            f"process {pid} touched no new page during the recording, so there is nothing to "
            "show: record longer (--seconds), or while it allocates memory"
            if with_faults
            else f"no sample was taken of process {pid}, because it did little during the "
            "recording: record longer (--seconds), or while it works"
        )
    machine = read_host()
    return convert_samples(
        Recording(
            events=sorted([*watched.events, *faults], key=lambda event: event.time_ns),
            command=["", *command],
            captured=started,
            host=this_host(Path("/"), platform.uname(), machine),
            machine=machine,
            recorder="samples" if sampled else "faults",
            counts=counts,
            moments=0 if sampled else count_moments(events.filter("is_hinting")["time_ns"]),
            slice_ns=None if every is None else round(every * 1e9),
            cpu_s=watched.used.seconds,
            options={"event": ",".join(event.name for event in sampled)} if sampled else {},
            unseen=[
                *_unseen(log, hinting, sampled, with_faults),
                "The program was already running when the recording started, so its allocations "
                "are unknown. The heap is shown as one structure, and so is all other memory "
                "without a name.",
            ],
        )
    )


def _unseen(
    log: dict[str, Any], samples: int, sampled: Sequence[SampledEvent], with_faults: bool
) -> list[str]:
    """Sentences about what the samples of accesses, or the page faults, do not contain."""
    lost = int(log["lost"])
    if is_clock(sampled):
        without_access, bursts = int(log["without_access"]), int(log["bursts"])
        return unseen_of_clock(
            samples, without_access, lost, with_faults, from_start=False, bursts=bursts
        )
    if [event.name for event in sampled] == [PAGE_FAULTS]:
        return unseen_of_page_faults(samples, lost, from_start=False)
    if sampled:
        return unseen_of_samples(samples, lost, from_start=False)
    return unseen_of_faults(samples, int(log["hinting_counted"]), lost, from_start=False)


def _log_of(
    watched: _Watched,
    seconds: float | None,
    sampled: Sequence[SampledEvent],
    with_faults: bool,
    begins: Callable[[], None],
) -> dict[str, Any]:
    """The kernel's reports on the process; its mappings and threads are noted meanwhile."""
    with (
        tempfile.TemporaryDirectory(prefix="numascape-") as folder,
        signals_passed_on() as receiver,
    ):
        helper = str(installed_file("_recorder/numascape-faults"))
        words = [",".join(event.words for event in sampled)] if sampled else []
        words += [] if with_faults else ["--without-faults"]
        child = subprocess.Popen(
            [helper, folder, "--pid", str(watched.pid), str(seconds or 0), *words]
        )
        receiver.becomes(child.pid)
        following, has_begun = 0.0, False
        while child.poll() is None:
            if not has_begun and (has_begun := (Path(folder) / "faults").exists()):
                begins()
            if time.monotonic() >= following:
                begin = time.thread_time()
                watched.note_changes()
                following = time.monotonic() + pause_after(time.thread_time() - begin)
            time.sleep(_INTERVAL_S)
        watched.note_changes()
        error = Path(folder) / "launch-error"
        if error.exists():
            raise NumascapeError(error.read_text(errors="replace").strip())
        try:
            return native.read_events(f"{folder}/faults", watched.pid)
        except native.ShardError as failure:
            raise NumascapeError(str(failure)) from failure


def _samples(
    pid: int, events: pl.DataFrame, nodes: dict[int, int], calls: pl.DataFrame
) -> list[Event]:
    columns = ("time_ns", "address", "pc", "tid", "cpu", "is_hinting", "writes", "page", "callers")
    # Without any call, callers were not recorded.
    known = _Callers(calls) if calls.height else None
    return [
        Sample(
            *(pid, tid, cpu, at, _EVENTS[sampled], address, pc, _KINDS[writes]),
            node=nodes.get(page),
            calls=known.of(callers) if known and sampled else None,
        )
        for at, address, pc, tid, cpu, sampled, writes, page, callers in events.select(
            columns
        ).iter_rows()
    ]


class _Callers:
    """The calls that led to a sample, from the tree of calls of the log."""

    def __init__(self, calls: pl.DataFrame) -> None:
        rows = calls.select("number", "callers", "pc").iter_rows()
        self._calls = {number: (callers, pc) for number, callers, pc in rows}
        self._known: dict[int, tuple[int, ...]] = {}

    def of(self, callers: int) -> tuple[int, ...]:
        """The addresses of the calls, innermost first, as in Sample."""
        if callers not in self._known:
            found, at = [], callers
            while at in self._calls:
                at, pc = self._calls[at]
                found.append(pc)
            if at != native.NO_CALLERS:
                found.append(UNKNOWN_CALLERS)
            self._known[callers] = tuple(found)
        return self._known[callers]


def _nodes(pid: int, pages: np.ndarray) -> dict[int, int]:  # type: ignore[type-arg]
    """The nodes of these pages, if the process still has them and we may ask."""
    addresses = np.ascontiguousarray(pages, dtype=np.uint64)
    status = np.full(len(pages), -1, dtype=np.int32)
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = [ctypes.c_long] * 7
    if call(_MOVE_PAGES, pid, len(pages), addresses.ctypes.data, 0, status.ctypes.data, 0) != 0:
        return {}
    found = zip(addresses.tolist(), status.tolist(), strict=True)
    return {page: node for page, node in found if node >= 0}
