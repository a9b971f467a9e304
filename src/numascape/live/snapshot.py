# SPDX-License-Identifier: Apache-2.0
"""Where the pages and threads of a process are at one moment, as the kernel tells.

The process is not stopped, and no page is touched: pagemap tells which pages are in memory, and
move_pages(2) without target nodes tells the nodes of those.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape._native import live as native
from numascape.errors import NumascapeError
from numascape.live.mappings import Mapping, not_permitted, read_mappings
from numascape.live.parts import Namer, Part
from numascape.live.refusals import calls_refused
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread, read_threads
from numascape.machine.kernel_files import node_cpus

# Above this many bytes in memory, only a part of the 4 KiB pages is examined by default.
EXACT_BYTES: Final = 16 << 30
_MAX_EVERY: Final = 1 << 10
_MAX_THREADS: Final = 4
HUGE_PAGE: Final = 2 << 20
COUNTS: Final = {
    "part": pl.UInt32(),
    "node": pl.Int32(),
    "memory": pl.String(),
    "page_bytes": pl.UInt64(),
    "bytes": pl.UInt64(),
}


@dataclass(frozen=True)
class Snapshot:
    """A process at one moment; `time_s` is the clock of the day in seconds.

    `counts` is by part (an index in `parts`): node (-1: unknown, such as the zero page), memory
    (anonymous, file, swapped), page_bytes, bytes. If `every` is above 1, only one in this many
    windows of 2 MiB was examined. `huge_told`: whether transparent huge pages are told apart.
    `nodes` has the CPUs of each node.
    """

    target: TargetProcess
    time_s: float
    mappings: tuple[Mapping, ...]
    parts: tuple[Part, ...]
    counts: pl.DataFrame
    threads: tuple[Thread, ...]
    nodes: dict[int, tuple[int, ...]]
    every: int
    huge_told: bool

    @property
    def numbers(self) -> list[int]:
        """The nodes with pages or CPUs, ascending."""
        used = self.counts.filter(pl.col("node") >= 0)["node"].unique().to_list()
        return sorted(set(used) | set(self.nodes))


def take_snapshot(
    target: TargetProcess, namer: Namer | None = None, exact: bool = False
) -> Snapshot:
    """Look at the process. Raises NumascapeError if it has ended or may not be examined.

    Unless `exact`, a process with very many pages is sampled, and policies are then not read.
    """
    every = 1 if exact else sampling(resident_bytes(target))
    mappings = read_mappings(target, with_policies=every == 1)
    if not mappings:
        raise NumascapeError(_no_memory(target))
    threads = read_threads(target)
    parts = (namer or Namer(target)).parts(mappings, threads)
    counts, huge_told = _count(target, parts, every)
    return Snapshot(
        target,
        time.time(),
        tuple(mappings),
        tuple(parts),
        counts,
        tuple(threads),
        node_cpus(target.root),
        every,
        huge_told,
    )


def _no_memory(target: TargetProcess) -> str:
    if target.is_alive:
        return f"{target} is a thread of the kernel: it has no memory of its own"
    return f"{target} has ended"


def sampling(resident: int) -> int:
    """One window in this many is examined: a power of two."""
    every = 1
    while resident > EXACT_BYTES * every and every < _MAX_EVERY:
        every *= 2
    return every


def resident_bytes(target: TargetProcess) -> int:
    """The memory of the process in /proc/PID/status, without explicit huge pages."""
    try:
        text = (target.folder / "status").read_text(errors="replace")
    except OSError:
        return 0
    match = re.search(r"^VmRSS:\s*([0-9]{1,15}) kB$", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def _count(target: TargetProcess, parts: list[Part], every: int) -> tuple[pl.DataFrame, bool]:
    threads = min(_MAX_THREADS, len(os.sched_getaffinity(0)))
    try:
        found = native.count_pages(
            target.pid, str(target.folder / "pagemap"), _rows(parts), threads, every
        )
    except PermissionError as error:
        raise NumascapeError(calls_refused() or not_permitted(target)) from error
    except (ProcessLookupError, FileNotFoundError) as error:
        raise NumascapeError(f"{target} has ended") from error
    return _frame(found, parts), bool(found["tells_huge_pages"])


def _rows(parts: list[Part]) -> npt.NDArray[np.uint64]:
    rows = [(part.start, part.end, part.page_bytes) for part in parts]
    return np.array(rows, np.uint64).reshape(-1, 3)


def _frame(found: dict[str, Any], parts: list[Part]) -> pl.DataFrame:
    flags = pl.col("flags")
    sizes = pl.Series([part.page_bytes for part in parts], dtype=pl.UInt64)
    frame = pl.DataFrame({name: found[name] for name in ("part", "node", "flags", "bytes")})
    own = sizes.gather(frame["part"]) if frame.height else pl.Series([], dtype=pl.UInt64)
    return (
        frame.with_columns(own=own)
        .select(
            "part",
            "node",
            memory=pl.when(flags & native.SWAPPED > 0)
            .then(pl.lit("swapped"))
            .when(flags & native.FILE > 0)
            .then(pl.lit("file"))
            .otherwise(pl.lit("anonymous")),
            page_bytes=pl.when((flags & native.HUGE > 0) & (pl.col("own") < HUGE_PAGE))
            .then(HUGE_PAGE)
            .otherwise(pl.col("own"))
            .cast(pl.UInt64),
            bytes=pl.col("bytes"),
        )
        .cast(COUNTS)  # type: ignore[arg-type]
    )
