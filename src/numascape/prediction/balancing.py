# SPDX-License-Identifier: Apache-2.0
"""Models the kernel's NUMA balancing: which pages it moves, when, and at what cost.

The kernel scans a process's memory repeatedly and makes pages fault at their next use. The first
such fault of a page moves it to the node of the faulting CPU. A later fault moves it only if the
previous fault was from the same node (kernel/sched/fair.c and mm/mempolicy.c; docs/prediction.md
gives versions). A fault needs an access, so nodes fault in proportion to their accesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.page_index import PageIndex, page_index, positions, rows_of_accesses
from numascape.analysis.sharing import PAGE
from numascape.machine import Machine
from numascape.prediction.policies import SCHEMA, first_touch
from numascape.prediction.speeds import HARDWARE_THREADS_GAIN, Floats, Speeds, speeds_of
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES

_MAX_PASSES: Final = 64
"""Number of simulated scans of the memory; after them, pages stay where they are."""
_LINES_OF_A_FAULT: Final = 4
"""Cache lines that a fault writes and that the CPU of another thread has: the lock of the address
space (twice: taken and released), the page table entry (from the thread that scanned), and the page
descriptor (from the thread with the last fault).
"""
_TENTHS_LOCAL: Final = 7
"""At or above this number of local faults out of 10, the kernel scans more slowly."""


@dataclass(frozen=True)
class BalancingKernel:
    """The kernel's default settings, and the assumed cost of a fault and of a move.

    `fault_s` is the time of a fault, without waiting for cache lines of other threads' CPUs.
    `deferred_faults` is for a rule of Linux 3.13 and 3.14 alone, where it is 16. If a fault on a
    shared page is from another node than the page's previous fault, this many next faults of the
    thread on shared pages move nothing.
    """

    scan_delay_s: float = 1.0
    scan_period_min_s: float = 1.0
    scan_period_max_s: float = 60.0
    scan_bytes_per_s: float = 2560.0 * (1 << 20)
    fault_s: float = 1e-6
    move_s: float = 5e-6
    deferred_faults: int = 0


@dataclass(frozen=True, eq=False)
class BalancedPages:
    """The mean placement of pages over the run, and the seconds that each thread spent on it.

    `passes` is the number of scans of the whole memory.
    """

    pages: pl.DataFrame
    thread_seconds: float
    passes: float


@dataclass(frozen=True, eq=False)
class BalancingStart:
    """The start of a run: `held` and `users` are pages x nodes, where pages are and who uses them.

    `users` and `again` are what `_users` returns. `at_once` is how many threads handle faults at
    the same time. `sizes` is the number of pages that each row stands for.
    """

    pages: pl.DataFrame
    nodes: tuple[int, ...]
    held: Floats
    users: Floats
    again: Floats
    kernel: BalancingKernel
    at_once: float
    sizes: Floats

    def of_groups(self, rows: npt.NDArray[np.int64], sizes: Floats) -> BalancingStart:
        """The start with the first page of each group of equal pages, and the sizes of groups."""
        return replace(
            self,
            pages=self.pages[rows],
            held=self.held[rows],
            users=self.users[rows],
            again=self.again[rows],
            sizes=sizes,
        )

    def after(self, seconds: float, resident_bytes: float | None = None) -> BalancedPages:
        """The placement in a run of this many seconds.

        `resident_bytes` is the memory that the kernel has to scan, by default the trace's pages. It
        differs if the trace stands for a larger run.
        """
        mean, thread_seconds, passes = self.shares_after(seconds, resident_bytes)
        frames = [
            self.pages.select(PAGE).with_columns(
                node=pl.lit(number, pl.Int32), share=pl.Series(mean[:, position])
            )
            for position, number in enumerate(self.nodes)
        ]
        pages = pl.concat(frames).filter(pl.col("share") > 0).cast(SCHEMA)
        return BalancedPages(pages, thread_seconds, passes)

    def shares_after(
        self, seconds: float, resident_bytes: float | None = None
    ) -> tuple[Floats, float, float]:
        """As `after`: the placement as pages x nodes, the seconds of each thread, and the scans."""
        size = float(self.sizes.sum()) * PAGE_BYTES
        resident = resident_bytes or size
        mean, cost, passes = _walks(self, seconds, resident)
        # The trace's pages stand for all pages of the run.
        scale = resident / max(size, 1.0)
        return mean, cost * scale / max(self.at_once, 1.0), passes


def balancing_start(
    trace: Trace,
    machine: Machine,
    thread_nodes: npt.NDArray[np.int64],
    free_bytes: Mapping[int, int] | None = None,
    kernel: BalancingKernel | None = None,
) -> BalancingStart:
    """The start for balancing with first touch; it does not depend on how long the run takes."""
    kernel = kernel or BalancingKernel()
    start = first_touch(trace, machine, thread_nodes, free_bytes)
    index = page_index(trace)
    speeds = speeds_of(machine)
    shape = (index.pages.height, len(speeds.nodes))
    at = speeds.positions(start["node"].to_numpy().astype(np.int64))
    on = speeds.shares_of_threads(speeds.positions(thread_nodes))
    users, again = _users(trace, index, on, kernel.deferred_faults)
    waits = _LINES_OF_A_FAULT * _line_s(speeds, on)
    return BalancingStart(
        index.pages,
        speeds.nodes,
        _matrix(index.rows(start), at, start["share"].to_numpy(), shape),
        users,
        again,
        replace(kernel, fault_s=kernel.fault_s + waits),
        # Threads handle faults in parallel, limited by the number of cores.
        min(trace.threads.height, HARDWARE_THREADS_GAIN * float(speeds.cores.sum())),
        np.ones(shape[0]),
    )


def _line_s(speeds: Speeds, on: Floats) -> float:
    """Seconds to get a line that a random thread wrote last; 0 for the same thread.

    A line from another CPU's cache takes about as long as from the memory of its node.
    """
    if len(on) < 2:
        return 0.0
    any_thread = on.mean(axis=0)
    return (1.0 - 1.0 / len(on)) * float(any_thread @ speeds.latency @ any_thread) * 1e-9


def _matrix(
    rows: npt.NDArray[np.integer], columns: npt.NDArray[np.int64], values: Floats,
    shape: tuple[int, int],
) -> Floats:  # fmt: skip
    flat = rows.astype(np.int64) * shape[1] + columns
    return np.asarray(np.bincount(flat, values, shape[0] * shape[1]), np.float64).reshape(shape)


def _users(trace: Trace, index: PageIndex, on: Floats, deferred: int) -> tuple[Floats, Floats]:
    """Two matrices of pages x nodes: the users of a page, and where its later faults move it.

    The first is the share of a page's accesses by each node's CPUs, or 0 if it is unused. The
    second is the probability that a fault moves the page to the node or keeps it there.
    """
    accesses = trace.accesses
    made = (accesses["reads"] + accesses["writes"]).to_numpy().astype(np.float64)
    thread = accesses["thread"].to_numpy().astype(np.int64)
    key = rows_of_accesses(trace) * len(on) + thread
    used = made > 0
    if not used.all():
        key, made = key[used], made[used]
    at, found = positions(key, index.pages.height * len(on))
    row, thread = found // len(on), found % len(on)
    count = np.bincount(at, made, len(found))
    part = count / np.bincount(row, count, index.pages.height)[row]
    shape = (index.pages.height, on.shape[1])
    # Each entry is for one page, thread and node.
    entry, node = np.nonzero(on[thread])
    row, thread = row[entry], thread[entry]
    part = part[entry] * on[thread, node]
    users = _matrix(row, node, part, shape)
    # The previous fault was from the same node, by the same thread or by another one.
    other = users[row, node] - part
    free = _not_deferred(thread, part, 1.0 - users[row, node], other, len(on), deferred)
    return users, _matrix(row, node, part * (part + other * free[thread]), shape)


def _not_deferred(
    thread: npt.NDArray[np.int64],
    part: Floats,
    elsewhere: Floats,
    other: Floats,
    threads: int,
    deferred: int,
) -> Floats:
    """The probability for each thread that its fault on a shared page may move the page.

    The thread's last `deferred` faults on shared pages decide. For each of them, the previous fault
    on its page must have been from the same node.
    """
    missed = np.bincount(thread, part * elsewhere, threads)
    shared = missed + np.bincount(thread, part * other, threads)
    quota = np.divide(missed, shared, out=np.zeros(threads), where=shared > 0)
    return np.asarray((1.0 - np.minimum(quota, 1.0)) ** deferred)


def _walks(start: BalancingStart, seconds: float, resident: float) -> tuple[Floats, float, float]:
    """The mean placement over the run, all threads' seconds for it, and the number of scans."""
    held, users, again, kernel = start.held, start.users, start.again, start.kernel
    period = max(kernel.scan_period_min_s, resident / kernel.scan_bytes_per_s)
    clock = min(kernel.scan_delay_s, seconds)
    mean, cost, passes = held * clock, 0.0, 0.0
    used = float(start.sizes @ users.sum(axis=1))
    for number in range(_MAX_PASSES):
        left = seconds - clock
        if left <= 0 or used == 0:
            break
        # The first fault moves a page; later, two successive faults from one node are needed.
        moves = users if number == 0 else again
        after = held * (1.0 - moves.sum(axis=1, keepdims=True)) + moves
        part = min(1.0, left / period)
        moved = float(start.sizes @ (moves.sum(axis=1) - (held * moves).sum(axis=1)))
        cost += part * (kernel.fault_s * used + kernel.move_s * moved)
        # During a scan, the pages that were already scanned have the placement after the scan.
        mean += (held * (1.0 - part / 2) + after * (part / 2)) * (part * period)
        clock += part * period
        passes += part
        held = after
        tenths = int(10 * float(start.sizes @ (users * held).sum(axis=1)) / used + 1e-9)
        if tenths >= _TENTHS_LOCAL:
            longer = 1.0 + 0.1 * max(1, tenths - _TENTHS_LOCAL)
            period = min(period * longer, max(period, kernel.scan_period_max_s))
    mean += held * max(0.0, seconds - clock)
    return mean / seconds if seconds > 0 else start.held, cost, passes
