# SPDX-License-Identifier: Apache-2.0
"""The experiment: how a file's page cache displaces a later program's pages, and what helps.

For each size of the file and each way of running, it empties the cache and reads the file on the
first node. It then runs a vector triad that fills a part of the memory, with at least one worker
per node.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from numascape.errors import NumascapeError
from numascape.host.dropping import drop_caches
from numascape.host.rates import event_counts
from numascape.host.state import HostState, read_state
from numascape.host.sweeping import sweep
from numascape.host.triads import Triad, TriadPolicy, run_triad
from numascape.machine.kernel_files import node_cpus
from numascape.quantities import bytes_text

WAYS: Final[dict[str, TriadPolicy]] = {
    "first touch": "first-touch",
    "strict": "bind",
    "swept": "first-touch",
    "dropped": "first-touch",
    "interleaved": "interleave",
}
"""The ways of running, with the memory policy of the triad."""
_ROOT: Final = Path("/")
# Counters of freed pages: by kswapd, and by allocations (mm/vmscan.c).
_FREED: Final = ("pgsteal_kswapd", "pgsteal_direct")
_BLOCK: Final = 4 << 20
# Largest used share of the memory that is free or can be freed. Other programs need the rest.
_MAX_SHARE: Final = 0.8


@dataclass(frozen=True)
class ExperimentPlan:
    """The measurements: sizes of the file, ways of running, and bytes of all workers together."""

    sizes: tuple[int, ...]
    ways: tuple[str, ...]
    bytes: int
    workers: int
    mpi: bool
    samples: int
    folder: Path


@dataclass(frozen=True)
class ExperimentResult:
    """The result of one size and way; `cache` is the page cache by node in bytes before the triad.

    `freed` has two numbers of pages that were freed while it ran. kswapd freed the first ones, in
    parallel to the program. The program's own allocations freed the others, and waited for this. 0
    if the kernel does not report them.
    """

    size: int
    way: str
    triad: Triad
    cache: dict[int, int]
    freed: tuple[int, int]


def plan_sizes(state: HostState, virtual: bool) -> tuple[int, ...]:
    """Sizes of the file, from 0 to all memory: nine, or five in a virtual machine.

    An emulated one needs some seconds for each point.
    """
    total = sum(node.total for node in state.nodes)
    steps = 4 if virtual else 8
    return tuple(total * step // steps for step in range(steps + 1))


def fitting_bytes(state: HostState, share: float) -> int:
    """The bytes of this share of the memory. Raises NumascapeError if the triad does not fit."""
    size = int(share * sum(node.total for node in state.nodes))
    can_be_free = sum(
        node.free + node.reclaimable for node in state.nodes if state.allowed(node.node)
    )
    group = state.limits.group
    if group is not None and group.left < can_be_free:
        can_be_free = group.left
    if size > _MAX_SHARE * can_be_free:
        raise NumascapeError(
            f"the triad needs {bytes_text(size)}, but only {bytes_text(can_be_free)} can be free: "
            "use a smaller --fill, or end other programs"
        )
    return size


def measure_point(plan: ExperimentPlan, size: int, way: str) -> ExperimentResult:
    """Measure one point; never leaves the file behind. Raises NumascapeError or OSError."""
    nodes = read_state(_ROOT).numbers
    empty_cache(nodes)
    with cached_file(plan.folder, size, nodes[0]):
        if way == "swept":
            sweep(nodes, None, 0.0, False, lambda *_: None)
        elif way == "dropped":
            drop_caches(_ROOT)
        cache = {node.node: node.cache for node in read_state(_ROOT).nodes}
        before = event_counts(_ROOT, *_FREED)
        triad = run_triad(plan.bytes, nodes, WAYS[way], plan.samples, plan.workers, plan.mpi)
        by_kswapd, by_programs = (
            now - former for now, former in zip(event_counts(_ROOT, *_FREED), before, strict=True)
        )
    return ExperimentResult(size, way, triad, cache, (by_kswapd, by_programs))


def empty_cache(nodes: list[int]) -> None:
    """Drop all cache as root; sweep as another user."""
    if os.geteuid() == 0:
        try:
            drop_caches(_ROOT)
        except NumascapeError:
            pass
        else:
            return
    sweep(nodes, None, 0.0, True, lambda *_: None)


@contextmanager
def cached_file(folder: Path, size: int, node: int) -> Iterator[None]:
    """Provide a file with clean cache, read by the node's CPUs, while the context is entered.

    Its blocks are only reserved: the kernel fills their pages with zeros and need not wait for the
    disk. The file has no name, so it disappears even if this process is killed. Raises
    NumascapeError if the disk does not have enough space.
    """
    free = os.statvfs(folder)
    if size > free.f_bavail * free.f_frsize:
        raise NumascapeError(
            f"{folder} has {bytes_text(free.f_bavail * free.f_frsize)} free, but the file needs "
            f"{bytes_text(size)}: name another --folder, or smaller --sizes"
        )
    with tempfile.TemporaryFile(dir=folder, prefix=".numascape-", buffering=0) as file:
        with _running_on(node):
            try:
                if size:
                    os.posix_fallocate(file.fileno(), 0, size)
                os.fsync(file.fileno())
                block = bytearray(_BLOCK)
                while file.readinto(block):
                    pass
            except OSError as error:
                raise NumascapeError(
                    f"{folder}: a file of {bytes_text(size)} failed: {error.strerror}"
                ) from error
        yield


@contextmanager
def _running_on(node: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    wanted = before & set(node_cpus(_ROOT).get(node, ()))
    if wanted:
        os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def experiment_csv(results: list[ExperimentResult]) -> str:
    """A CSV row per point: file, way, MFlop/s, local share, freed pages; pages, cache by node."""
    nodes = sorted({node for result in results for node in result.cache})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ["file_bytes", "way", "mflops_median", "mflops_min", "mflops_max", "local_share"]
    head += ["pages_freed_by_kswapd", "pages_freed_by_program"]
    head += [f"pages_node{node}" for node in nodes] + [f"cache_bytes_node{node}" for node in nodes]
    writer.writerow(head)
    for result in results:
        mflops = result.triad.mflops
        row: list[object] = [result.size, result.way, *(
            f"{value:.6g}" for value in (median(mflops), min(mflops), max(mflops)))]  # fmt: skip
        row += [f"{result.triad.local_share:.4f}", *result.freed]
        row += [result.triad.pages.get(node, 0) for node in nodes]
        writer.writerow(row + [result.cache.get(node, 0) for node in nodes])
    return text.getvalue()
