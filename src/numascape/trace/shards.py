# SPDX-License-Identifier: Apache-2.0
"""Shards as data frames: one replayed shard per process image."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from numascape._native import shard as native
from numascape.errors import NumascapeError

# OwnerKind of src/native/counters/replay.h.
BLOCK, SMALL, STACK, MODULE, MAPPING, UNKNOWN = range(6)
# PhaseKind of src/native/counters/shard_format.h.
PHASE_OUTSIDE, PHASE_REGION, PHASE_MARK, PHASE_TIME_SLICE, PHASE_FURTHER = range(5)
# The page faults of a session, beside its shards: src/native/counters/fault_log.h.
FAULTS = "faults"
# 73 years: later times are those of a damaged shard.
LATEST_NS = 1 << 61
# MapFlags of src/native/counters/shard_format.h.
MAP_HEAP, MAP_BY_ALLOCATOR, MAP_BEFORE = 1, 2, 4


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
    """A thread of the process; times in ticks, `ended` 0 when it lived to the end.

    `cpus` are those it was seen on, `first_cpu` (none or one) is where it began.
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
    """A phase of the process; times in ticks, `ended` 0 when it never ended.

    `place` and `caller` are as PhaseRecord's in src/native/counters/shard_format.h.
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

    Frames: `owners` (owner, kind, start, bytes, stack_id, thread, path, flags, blocks), `counts`
    (owner, page, thread, phase, reads, writes, memory_lines, written_lines), `touches` (owner,
    page, thread, phase, time, pc, flags), `placement` (owner, page, node), `switches` (phase, time)
    in order of time, `sites` (site, phase, pc, reads, writes, executions), `samples` (site, phase,
    owner, page, weight, whole; pages only of modules). `places` has function, file and line of each
    pc of `sites` that is no code address: what a compiler knew. Times are in ticks; `nanoseconds`
    converts them.
    Where page faults were recorded, `counts` has hinting faults as reads and others as writes;
    `hinting` (thread, time) are the former in order of time, and the kernel counted
    `hinting_counted` of them meanwhile, of all processes.
    """

    path: Path
    header: Mapping[str, Any]
    program: str
    owners: pl.DataFrame
    counts: pl.DataFrame
    touches: pl.DataFrame
    placement: pl.DataFrame
    sites: pl.DataFrame
    samples: pl.DataFrame
    places: Mapping[int, tuple[str, str, int]]
    threads: list[ShardThread]
    modules: list[MappedModule]
    phases: list[ShardPhase]
    switches: pl.DataFrame
    paths: list[str]
    call_stacks: Mapping[int, tuple[list[int], bytes]]
    ambiguous_pages: int
    shared_page_accesses: int
    damaged: int
    lost_faults: int
    hinting: pl.DataFrame
    hinting_counted: int

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Each thread's place in the order of creation; `threads` is in that order."""
        return {thread.thread: rank for rank, thread in enumerate(self.threads)}

    def has(self, flag: int) -> bool:
        """Whether the header has this flag (native FLAG_...)."""
        return bool(self.header["flags"] & flag)

    @property
    def ns_per_tick(self) -> float:
        """The tick's length, from the header's two pairs of times."""
        ticks = self.header["last_ticks"] - self.header["start_ticks"]
        elapsed = self.header["last_ns"] - self.header["start_ns"]
        return elapsed / ticks if ticks > 0 and elapsed > 0 else 1.0

    def nanoseconds(self, ticks: int, run_start_ns: int) -> int:
        """A time in ticks as ns since `run_start_ns` (CLOCK_REALTIME), never negative."""
        since = (ticks - self.header["start_ticks"]) * self.ns_per_tick
        return min(LATEST_NS, max(0, int(since + self.header["start_ns"] - run_start_ns)))


def read_shards(paths: list[Path]) -> list[Shard]:
    """Replay shards, in the order in which their processes began.

    Raises NumascapeError when one is no shard, of another version, or unreadable.
    """
    headers = {path: _read_header(path) for path in paths}
    ordered = sorted(paths, key=lambda path: headers[path]["start_ns"])
    parents = {path: headers[path]["parent_shard"].decode(errors="replace") for path in paths}
    return [_read_shard(path, _ancestors(path, parents)) for path in ordered]


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
    """Names as text: tables hold no other, so bytes that are none become U+FFFD."""
    return raw.decode(errors="replace")


def _by_creation(threads: list[ShardThread], pid: int) -> list[ShardThread]:
    """Threads in the order in which they were created, as the kernel's growing ids tell.

    The shard numbers them as they began to run, which is another order when several wait for a
    CPU. Ids below the process's own come after the kernel's counter wrapped around.
    """
    return sorted(threads, key=lambda t: (t.os_tid < pid, t.os_tid, t.started))


def _read_shard(path: Path, ancestors: list[Path]) -> Shard:
    try:
        faults = path.with_name(FAULTS)
        raw = native.replay(
            str(path),
            [str(parent) for parent in ancestors],
            str(faults) if faults.exists() else "",
        )
    except native.ShardError as error:
        raise NumascapeError(str(error)) from error
    return Shard(
        path=path,
        header=raw["header"],
        program=_text(raw["header"]["program"]),
        owners=pl.DataFrame(raw["owners"]).with_row_index("owner"),
        counts=pl.DataFrame(raw["counts"]).rename(
            {"fetched_lines": "memory_lines", "dirtied_lines": "written_lines"}
        ),
        touches=pl.DataFrame(raw["touches"]),
        placement=pl.DataFrame(raw["placement"]),
        sites=pl.DataFrame(raw["sites"]),
        samples=pl.DataFrame(raw["samples"]),
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
        switches=pl.DataFrame(raw["switches"]),
        paths=[_text(name) for name in raw["paths"]],
        call_stacks=raw["call_stacks"],
        ambiguous_pages=raw["ambiguous_pages"],
        shared_page_accesses=raw["shared_page_accesses"],
        damaged=raw["damaged"],
        lost_faults=raw["lost_faults"],
        hinting=pl.DataFrame(raw["hinting"]),
        hinting_counted=raw["hinting_counted"],
    )
