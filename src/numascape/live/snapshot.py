# SPDX-License-Identifier: Apache-2.0
"""Finds where the pages and threads of a process are at one moment, as the kernel reports.

The process is not stopped, and no page is touched: pagemap shows which pages are in memory, and
move_pages(2) without target nodes returns their nodes.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from numascape._native import live as native
from numascape.errors import NumascapeError
from numascape.live.mappings import Mapping, NotPermittedError, not_permitted, read_mappings
from numascape.live.parts import Namer, Part
from numascape.live.positions import Cells
from numascape.live.refusals import calls_refused
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread, read_threads
from numascape.machine.kernel_files import node_cpus

# Above this many bytes in memory, only a part of the 4 KiB pages is examined by default.
EXACT_BYTES: Final = 16 << 30
_MAX_EVERY: Final = 1 << 10
_MAX_THREADS: Final = 4
HUGE_PAGE: Final = 2 << 20


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
    cells: Cells = field(default_factory=Cells)

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
    counts, huge_told, cells = _count(target, parts, every)
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
    target: TargetProcess, parts: list[Part], every: int
) -> tuple[tuple[PartCount, ...], bool, Cells]:
    threads = min(_MAX_THREADS, len(os.sched_getaffinity(0)))
    try:
        found = native.count_pages(
            target.pid, str(target.folder / "pagemap"), _rows(parts), threads, every
        )
    except PermissionError as error:
        refused = calls_refused()
        if refused:
            raise NumascapeError(refused) from error
        raise NotPermittedError(not_permitted(target)) from error
    except (ProcessLookupError, FileNotFoundError) as error:
        raise NumascapeError(f"{target} has ended") from error
    cells = Cells.of_columns(found["cells"])
    return tuple(_counts(found, parts)), bool(found["tells_huge_pages"]), cells


def _rows(parts: list[Part]) -> npt.NDArray[np.uint64]:
    rows = [(part.start, part.end, part.page_bytes) for part in parts]
    return np.array(rows, np.uint64).reshape(-1, 3)


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
