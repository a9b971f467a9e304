# SPDX-License-Identifier: Apache-2.0
"""Shards as data frames: one replayed shard per process image."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from numascape._native import shard as native
from numascape.conversion.frame_variables import (
    LocalVariable,
    frame_variables,
)
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.naming.python_statements import PythonFrame

# OwnerKind of src/native/replay/replay.h.
BLOCK, SMALL, STACK, MODULE, MAPPING, UNKNOWN, REGION, SMALL_REGIONS, FRAME_VARIABLE = range(9)
# Owners whose pages are anywhere in the address space.
SCATTERED = (SMALL, SMALL_REGIONS, UNKNOWN)
# PhaseKind of src/native/shard/thread_records.h.
PHASE_OUTSIDE, PHASE_REGION, PHASE_MARK, PHASE_TIME_SLICE, PHASE_FURTHER = range(5)
# The file of the session's page faults, beside its shards: src/native/replay/fault_log.h.
FAULTS = "faults"
# 73 years; a later time shows that the shard is damaged.
LATEST_NS = 1 << 61
# MapFlags of src/native/shard/memory_records.h.
MAP_HEAP, MAP_BY_ALLOCATOR, MAP_BEFORE, MAP_SHARED = 1, 2, 4, 8
# Flags of all owners: OwnerFlags of replay.h.
ASKS_FOR_HUGE_PAGES, REFUSES_HUGE_PAGES = 16, 32


_TABLES = (
    "owners",
    "counts",
    "touches",
    "placement",
    "sites",
    "samples",
    "shared_samples",
    "shares",
    "transfers",
    "kernel_accesses",
    "instructions",
    "work",
    "seen_lines",
    "seen_in_modules",
    "sampled_paths",
    "calls",
)
# The other results of a replay.
_OTHERS = (
    *("header", "places", "threads", "modules", "phases", "switches", "paths", "call_stacks"),
    *(
        "touch_callers",
        "python_stacks",
        "python_functions",
        "region_names",
        "counted",
        "ambiguous_pages",
    ),
    *("shared_page_accesses", "damaged", "lost_faults", "hinting", "hinting_counted"),
    "without_access",
)


@dataclass(frozen=True)
class MappedModule:
    """An executable or library; addresses are run-time addresses."""

    path: str
    start: int
    end: int
    load_bias: int
    owner: int


@dataclass(frozen=True)
class ShardThread:
    """A thread of the process; times are in ticks, `ended` is 0 if it lived until the end.

    `cpus` are the CPUs it was seen on, `first_cpu` (none or one) is where it began.
    """

    thread: int
    os_tid: int
    started: int
    ended: int
    name: str
    cpus: tuple[int, ...]
    first_cpu: tuple[int, ...]


@dataclass(frozen=True)
class ShardPhase:
    """A phase of the process; times are in ticks, `ended` is 0 if it never ended.

    `place` and `caller` are those of PhaseRecord in src/native/shard/thread_records.h.
    """

    phase: int
    kind: int
    repetitions: int
    started: int
    ended: int
    place: int
    caller: int
    name: str


@dataclass(frozen=True)
class Shard:
    """A replayed shard.

    `tables` has these tables and columns:

    - `owners`: kind, start, bytes, stack_id, thread, path, flags, blocks; the row is the number
    - `counts`: owner, page, thread, phase, reads, writes, fetched_lines, dirtied_lines
    - `touches`: owner, page, thread, phase, time, pc, callers (a key of `touch_callers`), flags
    - `placement`: owner, page, node
    - `sites`: site, phase, pc, reads, writes, executions
    - `samples`: site, phase, owner, page (only of modules), weight, whole
    - `shared_samples`: site, phase, group, weight
    - `shares`: group, owner, share: the owners that share the samples of a group
    - `work`: thread, level, units, counted_units, bursts, burst_units (of the last bursts); empty
      unless only bursts were counted. The level is that of the share (conversion/bursts.py)
    - `transfers`, `kernel_accesses`, `seen_lines`, `seen_in_modules`, `sampled_paths`:
      src/native/replay/replay.h
    - `calls`: number, callers, pc: SampledCall of src/native/replay/fault_log.h

    `switches` are (phase, time) in order of time. `places` has function, file and line for each pc
    of `sites` that is not a code address; the compiler wrote it. Times are in ticks; `nanoseconds`
    converts them. `counted` is the sum of all reads and writes in the recorder's counters, before
    their owners are known.
    If page faults were recorded, `counts` has hinting faults as reads, and no other faults.
    `hinting` has the times of the hinting faults in order. `hinting_counted` is how many the kernel
    counted in the same time, for all processes. Samples of accesses count as hinting faults, and as
    writes if they are known to be writes. `without_access` is the number of samples of the clock
    without an access.
    """

    path: Path
    header: Mapping[str, Any]
    program: str
    tables: dict[str, pl.DataFrame]
    places: Mapping[int, tuple[str, str, int]]
    threads: list[ShardThread]
    modules: list[MappedModule]
    phases: list[ShardPhase]
    switches: list[tuple[int, int]]
    paths: list[str]
    # Key: an identifier. Value: return addresses, or registers and a copy of the stack.
    call_stacks: dict[int, tuple[tuple[int, ...], list[int], bytes]]
    # Key: an identifier. Value: the return addresses of the calls that led to first touches,
    # innermost first, and whether the last one is that of the outermost function.
    touch_callers: Mapping[int, tuple[list[int], bool]]
    # Key: an identifier. Value: the Python functions of the call stack, innermost first.
    python_stacks: Mapping[int, tuple[PythonFrame, ...]]
    # Key: the stack_id of an owner. Value: a region's name, and the code address that named it.
    region_names: Mapping[int, tuple[str, int]]
    # Variables in frames on stacks. The stack_id of an owner is an index in this list.
    local_variables: list[LocalVariable]
    counted: tuple[int, int]
    ambiguous_pages: int
    shared_page_accesses: int
    damaged: int
    lost_faults: int
    hinting: pl.Series
    hinting_counted: int
    without_access: int

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Each thread's position in the order of creation, which is the order of `threads`."""
        return {thread.thread: rank for rank, thread in enumerate(self.threads)}

    def has(self, flag: int) -> bool:
        """Whether the header has this flag (native FLAG_...)."""
        return bool(self.header["flags"] & flag)

    @property
    def ns_per_tick(self) -> float:
        """The length of a tick, from the two pairs of times in the header."""
        ticks = self.header["last_ticks"] - self.header["start_ticks"]
        elapsed = self.header["last_ns"] - self.header["start_ns"]
        return elapsed / ticks if ticks > 0 and elapsed > 0 else 1.0

    def nanoseconds(self, ticks: int, run_start_ns: int) -> int:
        """Convert ticks to ns since `run_start_ns` (CLOCK_REALTIME), never negative."""
        since = (ticks - self.header["start_ticks"]) * self.ns_per_tick
        return min(LATEST_NS, max(0, int(since + self.header["start_ns"] - run_start_ns)))

    def times_ns(self, ticks: pl.Expr, run_start_ns: int) -> pl.Expr:
        """Convert many times; they are out of range only in a damaged shard."""
        start = pl.lit(self.header["start_ticks"], dtype=pl.UInt64())
        since = (ticks - start).cast(pl.Float64())
        times = since * self.ns_per_tick + float(self.header["start_ns"] - run_start_ns)
        return times.clip(0.0, float(LATEST_NS)).cast(pl.UInt64())


def read_shards(paths: list[Path], cache: Path | None = None) -> list[Shard]:
    """Replay shards, in order of the start of their processes.

    Raises NumascapeError if a file is not a shard, has another version, or is unreadable.
    """
    headers = {path: _read_header(path) for path in paths}
    ordered = sorted(paths, key=lambda path: headers[path]["start_ns"])
    parents = {path: headers[path]["parent_shard"].decode(errors="replace") for path in paths}
    return [_read_shard(path, _ancestors(path, parents), cache) for path in ordered]


def _read_header(path: Path) -> Mapping[str, Any]:
    try:
        return native.read_header(str(path))
    except native.ShardError as error:
        raise NumascapeError(str(error)) from error


def _ancestors(path: Path, parents: Mapping[Path, str]) -> list[Path]:
    """The shards that `path`'s process was forked from, oldest first."""
    chain: list[Path] = []
    current = path
    while name := parents.get(current, ""):
        current = path.with_name(f"{name}.shard")
        if current in chain or current not in parents or os.sep in name:
            break
        chain.insert(0, current)
    return chain


def _text(raw: bytes) -> str:
    """Decode a name; invalid bytes become U+FFFD, because tables contain only text."""
    return raw.decode(errors="replace")


def _by_creation(threads: list[ShardThread], pid: int) -> list[ShardThread]:
    """Sort threads in order of creation, by the kernel's rising ids.

    The shard numbers them in the order in which they began to run, which differs if several wait
    for a CPU. Ids below the process's own id come after the kernel's counter wrapped around.
    """
    return sorted(threads, key=lambda t: (t.os_tid < pid, t.os_tid, t.started))


def _read_shard(path: Path, ancestors: list[Path], cache: Path | None) -> Shard:
    try:
        faults = path.with_name(FAULTS)
        frames = frame_variables(path, native.read_header(str(path)), cache)
        raw = native.replay(
            str(path),
            [str(parent) for parent in ancestors],
            str(faults) if faults.exists() else "",
            frames.places,
        )
    except native.ShardError as error:
        raise NumascapeError(str(error)) from error
    _check_same_version(raw)
    return Shard(
        path=path,
        header=raw["header"],
        program=_text(raw["header"]["program"]),
        tables={name: pl.DataFrame(raw[name]) for name in _TABLES},
        places={
            pc: (_text(function), _text(file), line) for pc, function, file, line in raw["places"]
        },
        threads=_by_creation(
            [
                ShardThread(thread, os_tid, start, end, _text(name), tuple(cpus), tuple(first))
                for thread, os_tid, start, end, name, cpus, first in raw["threads"]
            ],
            raw["header"]["pid"],
        ),
        modules=[
            MappedModule(_text(name), start, end, bias, owner)
            for name, start, end, bias, owner in raw["modules"]
        ],
        phases=[
            ShardPhase(phase, kind, repetitions, started, ended, place, caller, _text(name))
            for phase, kind, repetitions, started, ended, place, caller, name in raw["phases"]
        ],
        switches=pl.DataFrame(raw["switches"]).rows(),
        paths=[_text(name) for name in raw["paths"]],
        call_stacks=raw["call_stacks"],
        touch_callers=raw["touch_callers"],
        python_stacks=_python_stacks(raw["python_stacks"], raw["python_functions"]),
        region_names={
            number: (_text(name), place) for number, (name, place) in raw["region_names"].items()
        },
        local_variables=frames.variables,
        counted=raw["counted"],
        ambiguous_pages=raw["ambiguous_pages"],
        shared_page_accesses=raw["shared_page_accesses"],
        damaged=raw["damaged"],
        lost_faults=raw["lost_faults"],
        hinting=pl.DataFrame(raw["hinting"])["time"],
        hinting_counted=raw["hinting_counted"],
        without_access=raw["without_access"],
    )


def _check_same_version(raw: Mapping[str, Any]) -> None:
    """Raise NumascapeError if the native library was not built from the same sources."""
    missing = [name for name in (*_TABLES, *_OTHERS) if name not in raw]
    if missing:
        raise NumascapeError(
            "the native library of Numascape (numascape/_native) is older than its Python modules: "
            f"it does not return {missing[0]!r}. Install Numascape again, as you did before"
        )


def _python_stacks(
    stacks: Mapping[int, Any], functions: Mapping[int, Any]
) -> Mapping[int, tuple[PythonFrame, ...]]:
    if not stacks:
        return {}
    # Imported here, because most programs are not in Python.
    from numascape.naming.python_code import PythonCode, python_stacks

    return python_stacks(stacks, {code: PythonCode(*row) for code, row in functions.items()})
