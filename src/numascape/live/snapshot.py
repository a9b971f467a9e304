# SPDX-License-Identifier: Apache-2.0
"""Finds where the pages and threads of a process are at one moment, as the kernel reports.

The process is not stopped, and no page is touched: pagemap shows which pages are in memory, and
move_pages(2) without target nodes returns their nodes.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from numascape._native import live as native
from numascape.errors import NumascapeError
from numascape.live.mappings import Mapping, NotPermittedError, not_permitted, read_mappings
from numascape.live.parts import Namer, Part
from numascape.live.positions import PartCells
from numascape.live.refusals import calls_refused
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread, read_threads
from numascape.machine.kernel_files import node_cpus

# Above this many bytes in memory, only a part of the 4 KiB pages is examined by default.
EXACT_BYTES: Final = 16 << 30
_MAX_EVERY: Final = 1 << 10
_MAX_THREADS: Final = 4
HUGE_PAGE: Final = 2 << 20
# As in PartMemory, src/native/live/part_counts.h.
_UNKNOWN, _ANONYMOUS, _OF_FILE = range(3)
_ASK: Final = (1 << 64) - 1
# Shared memory, unlike other files in /dev.
_SHARED_MEMORY: Final = ("/dev/shm/", "/dev/zero")


class NoMemoryError(NumascapeError):
    """The process has no memory of its own: it is a thread of the kernel, or it has ended."""


class PartCount(NamedTuple):
    """Bytes of a part on a node.

    `part` is an index in the snapshot's parts. `node` is -1 if it is unknown, as for the zero page.
    `memory` is anonymous, file or swapped.
    """

    part: int
    node: int
    memory: str
    page_bytes: int
    bytes: int


@dataclass(frozen=True)
class Snapshot:
    """A process at one moment; `time_s` is the clock of the day in seconds.

    If `every` is above 1, only one in this many windows of 2 MiB was examined. `huge_told`: whether
    transparent huge pages are distinguished from other pages. `nodes` has the CPUs of each node.
    `cells` has the pages by their places in the parts.
    """

    target: TargetProcess
    time_s: float
    mappings: tuple[Mapping, ...]
    parts: tuple[Part, ...]
    counts: tuple[PartCount, ...]
    threads: tuple[Thread, ...]
    nodes: dict[int, tuple[int, ...]]
    every: int
    huge_told: bool
    cells: PartCells = field(default_factory=PartCells)

    @property
    def numbers(self) -> list[int]:
        """The online nodes and all other nodes with pages, ascending."""
        used = {count.node for count in self.counts if count.node >= 0}
        return sorted(used | set(self.nodes))


def take_snapshot(
    target: TargetProcess, namer: Namer | None = None, exact: bool = False
) -> Snapshot:
    """Look at the process. Raises NumascapeError if it has ended, and NotPermittedError.

    Unless `exact`, a process with very many pages is sampled, and policies are then not read.
    """
    every = 1 if exact else sampling(resident_bytes(target))
    mappings = read_mappings(target, with_policies=every == 1)
    if not mappings:
        raise NoMemoryError(_no_memory(target))
    threads = read_threads(target)
    parts = (namer or Namer(target)).parts(mappings, threads)
    counts, huge_told, cells = _count(target, mappings, parts, every)
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
        cells,
    )


def _no_memory(target: TargetProcess) -> str:
    if target.is_alive:
        return f"{target} is a thread of the kernel: it has no memory of its own"
    return f"{target} has ended"


def sampling(resident: int) -> int:
    """The power of two n of which the snapshot examines one window in n."""
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


def _count(
    target: TargetProcess, mappings: Sequence[Mapping], parts: list[Part], every: int
) -> tuple[tuple[PartCount, ...], bool, PartCells]:
    """The counts; asks the kernel for the nodes of pages only if numa_maps does not tell them."""
    mapping_of = np.array([part.mapping for part in parts])
    only_node = np.array([mapping.only_node for mapping in mappings])
    rows = _rows(mappings, parts)
    told = np.flatnonzero(only_node[mapping_of] >= 0)
    rows[told, 4] = only_node[mapping_of[told]].astype(np.uint64)
    first = _native_counts(target, rows, told, every)
    # numa_maps does not have the zero page, and other pages may have come meanwhile.
    in_memory = first["flags"] & native.SWAPPED == 0
    sums = np.zeros(len(mappings), np.int64)
    np.add.at(sums, mapping_of[first["part"][in_memory]], first["bytes"][in_memory].astype(int))
    agrees = (only_node >= 0) & (sums == [mapping.only_bytes for mapping in mappings])
    others = np.flatnonzero(~agrees[mapping_of])
    rows[others, 4] = _ASK
    second = _native_counts(target, rows, others, every)
    merged = {
        name: np.concatenate([first[name][agrees[mapping_of[first["part"]]]], second[name]])
        for name in ("part", "node", "flags", "bytes")
    }
    kept = first["cells"].chosen(agrees[mapping_of[first["cells"].part]])
    cells = kept.joined(second["cells"])
    huge_told = bool(first["tells_huge_pages"]) and bool(second["tells_huge_pages"])
    return tuple(_counts(merged, parts)), huge_told, cells


def _native_counts(
    target: TargetProcess, rows: npt.NDArray[np.uint64], chosen: npt.NDArray[np.int64], every: int
) -> dict[str, Any]:
    """The counts of some rows, with the numbers that the parts have among all rows."""
    threads = min(_MAX_THREADS, len(os.sched_getaffinity(0)))
    pagemap = str(target.folder / "pagemap")
    try:
        found = native.count_pages(target.pid, pagemap, rows[chosen], threads, every)
    except PermissionError as error:
        refused = calls_refused()
        if refused:
            raise NumascapeError(refused) from error
        raise NotPermittedError(not_permitted(target)) from error
    except (ProcessLookupError, FileNotFoundError) as error:
        raise NumascapeError(f"{target} has ended") from error
    cells = PartCells.of_columns(found["cells"], chosen, len(rows))
    return {**found, "part": chosen[found["part"]], "cells": cells}


def _rows(mappings: Sequence[Mapping], parts: list[Part]) -> npt.NDArray[np.uint64]:
    """The rows of the native `count_pages`, with unknown nodes."""
    rows = [
        (part.start, part.end, part.page_bytes, _memory_of(mappings[part.mapping]), _ASK)
        for part in parts
    ]
    return np.array(rows, np.uint64).reshape(-1, 5)


def _memory_of(mapping: Mapping) -> int:
    """The kind of memory of all pages of a mapping, if this is known."""
    if not mapping.is_file:
        return _UNKNOWN if mapping.path.startswith("[v") else _ANONYMOUS
    path = mapping.path
    is_device = path.startswith("/dev/") and not path.startswith(_SHARED_MEMORY)
    return _OF_FILE if mapping.is_shared and not is_device else _UNKNOWN


def _counts(found: dict[str, Any], parts: list[Part]) -> Iterator[PartCount]:
    columns = (found[name].tolist() for name in ("part", "node", "flags", "bytes"))
    for part, node, flags, count in zip(*columns, strict=True):
        page_bytes = parts[part].page_bytes
        if flags & native.HUGE:
            page_bytes = max(page_bytes, HUGE_PAGE)
        yield PartCount(part, node, _memory(flags), page_bytes, count)


def _memory(flags: int) -> str:
    if flags & native.SWAPPED:
        return "swapped"
    return "file" if flags & native.FILE else "anonymous"
