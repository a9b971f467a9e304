# SPDX-License-Identifier: Apache-2.0
"""The kernel's NUMA balancing: which pages it would have moved by when, and what that costs.

The kernel walks through a process's memory again and again and makes pages fault at their next
use. A page's first such fault moves it to the node of the faulting CPU; later ones only when the
fault before was from that node as well (kernel/sched/fair.c and mm/mempolicy.c; docs/prediction.md
gives versions). Who faults is who accesses, so nodes fault in proportion to their accesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.machine import Machine
from numascape.prediction.demand import PAGE, PAGE_BYTES
from numascape.prediction.policies import SCHEMA, first_touch
from numascape.prediction.speeds import HARDWARE_THREADS_GAIN, Floats, Speeds, speeds_of
from numascape.trace import Trace

_MOST_PASSES: Final = 64
"""Walks through memory that are followed; then pages are where they stay."""
_LINES_OF_A_FAULT: Final = 4
"""Lines that a fault writes, and that another thread's CPU has: the address space's lock, taken and
given back; the page table's entry, from who walked; the page's descriptor, from who faulted last.
"""
_TENTHS_LOCAL: Final = 7
"""Of 10 faults, how many must have been local for the kernel to take more time over a walk."""


@dataclass(frozen=True)
class BalancingKernel:
    """The kernel's settings, in their defaults, and what a fault and a move cost (assumed).

    `fault_s` is of a fault without waiting for lines that other threads' CPUs have.
    `deferred_faults`: how many faults on shared pages a thread lets pass after one that came from
    another node than the one before: 16 in Linux 3.13 and 3.14, which alone have it.
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
    """Where pages were on the mean of the run, and the seconds that each thread spent on moving.

    `passes` is how often the kernel came through the whole memory.
    """

    pages: pl.DataFrame
    thread_seconds: float
    passes: float


def numa_balancing(
    trace: Trace,
    machine: Machine,
    thread_nodes: npt.NDArray[np.int64],
    seconds: float,
    *,
    resident_bytes: float | None = None,
    free_bytes: Mapping[int, int] | None = None,
    kernel: BalancingKernel | None = None,
) -> BalancedPages:
    """The pages of a run of so many seconds, which begins with first touch.

    `resident_bytes` is the memory that the kernel has to walk through, by default the trace's
    pages: it is another when the trace stands for a larger run.
    """
    kernel = kernel or BalancingKernel()
    start = first_touch(trace, machine, thread_nodes, free_bytes)
    index = start.select(PAGE).unique(maintain_order=True).with_row_index("row")
    speeds = speeds_of(machine)
    shape = (index.height, len(speeds.nodes))
    placed = start.join(index, on=PAGE, how="left")
    at = speeds.positions(placed["node"].to_numpy().astype(np.int64))
    held = _matrix(placed["row"].to_numpy(), at, placed["share"].to_numpy(), shape)
    users, again = _users(
        trace, index, speeds.positions(thread_nodes), speeds.cpus, shape, kernel.deferred_faults
    )
    resident = resident_bytes or float(index.height * PAGE_BYTES)
    waits = _LINES_OF_A_FAULT * _line_s(speeds, speeds.positions(thread_nodes))
    costly = replace(kernel, fault_s=kernel.fault_s + waits)
    mean, cost, passes = _walks(held, users, again, seconds, resident, costly)
    frames = [
        index.select(PAGE).with_columns(
            node=pl.lit(number, pl.Int32), share=pl.Series(mean[:, position])
        )
        for position, number in enumerate(speeds.nodes)
    ]
    pages = pl.concat(frames).filter(pl.col("share") > 0).cast(SCHEMA)
    # The trace's pages stand for all of the run's.
    scale = resident / max(index.height * PAGE_BYTES, 1)
    # Threads handle their faults at the same time, as far as there are cores for it.
    at_once = min(trace.threads.height, HARDWARE_THREADS_GAIN * float(speeds.cores.sum()))
    return BalancedPages(pages, cost * scale / max(at_once, 1.0), passes)


def _line_s(speeds: Speeds, position: npt.NDArray[np.int64]) -> float:
    """Seconds to get a line that one of the threads, any of them, wrote last; nothing if oneself.

    A line comes from another CPU's cache in about the time that its node's memory would take.
    """
    threads = len(position)
    on = np.bincount(position[position >= 0], minlength=len(speeds.nodes)).astype(np.float64)
    on += (threads - on.sum()) * speeds.cpus / speeds.cpus.sum()
    on /= max(threads, 1)
    return (1.0 - 1.0 / max(threads, 1)) * float(on @ speeds.latency @ on) * 1e-9


def _matrix(
    rows: npt.NDArray[np.integer], columns: npt.NDArray[np.int64], values: Floats,
    shape: tuple[int, int],
) -> Floats:  # fmt: skip
    flat = rows.astype(np.int64) * shape[1] + columns
    return np.asarray(np.bincount(flat, values, shape[0] * shape[1]), np.float64).reshape(shape)


def _users(
    trace: Trace,
    index: pl.DataFrame,
    position: npt.NDArray[np.int64],
    cpus: npt.NDArray[np.int64],
    shape: tuple[int, int],
    deferred: int,
) -> tuple[Floats, Floats]:
    """Pages x nodes, twice: who uses a page, and who gets it at a later fault than its first.

    The first is the part of a page's accesses that each node's CPUs make, 0 where it is unused; the
    second the chance that a fault moves the page to the node, or keeps it there.
    """
    used = (
        trace.accesses.join(index, on=PAGE)
        .group_by("row", "thread", maintain_order=True)
        .agg(count=(pl.col("reads") + pl.col("writes")).sum().cast(pl.Float64))
        .filter(pl.col("count") > 0)
    )
    row, thread = (used[name].to_numpy().astype(np.int64) for name in ("row", "thread"))
    count = used["count"].to_numpy()
    part = count / np.bincount(row, count, shape[0])[row]
    on = np.zeros((len(position), shape[1]))
    fixed = np.flatnonzero(position >= 0)
    on[fixed, position[fixed]] = 1.0
    on[position < 0] = cpus / cpus.sum()
    # Entries of one page, thread and node.
    entry, node = np.nonzero(on[thread])
    row, thread = row[entry], thread[entry]
    part = part[entry] * on[thread, node]
    users = _matrix(row, node, part, shape)
    # The fault before was from the same node: by the same thread, or by another that is free to.
    other = users[row, node] - part
    free = _not_deferred(thread, part, 1.0 - users[row, node], other, len(position), deferred)
    return users, _matrix(row, node, part * (part + other * free[thread]), shape)


def _not_deferred(
    thread: npt.NDArray[np.int64],
    part: Floats,
    elsewhere: Floats,
    other: Floats,
    threads: int,
    deferred: int,
) -> Floats:
    """The chance for each thread that a fault of its on a shared page may move the page.

    It may when at none of the last so many of its faults on shared pages the fault before had come
    from another node.
    """
    missed = np.bincount(thread, part * elsewhere, threads)
    shared = missed + np.bincount(thread, part * other, threads)
    quota = np.divide(missed, shared, out=np.zeros(threads), where=shared > 0)
    return np.asarray((1.0 - np.minimum(quota, 1.0)) ** deferred)


def _walks(
    held: Floats,
    users: Floats,
    again: Floats,
    seconds: float,
    resident: float,
    kernel: BalancingKernel,
) -> tuple[Floats, float, float]:
    """Mean placement over the run, seconds of all threads for it, and the number of walks."""
    period = max(kernel.scan_period_min_s, resident / kernel.scan_bytes_per_s)
    clock = min(kernel.scan_delay_s, seconds)
    mean, cost, passes = held * clock, 0.0, 0.0
    used = users.sum(axis=1, keepdims=True)
    for number in range(_MOST_PASSES):
        left = seconds - clock
        if left <= 0 or not used.any():
            break
        # The first fault moves a page; from then on two in a row from one node are needed.
        moves = users if number == 0 else again
        after = held * (1.0 - moves.sum(axis=1, keepdims=True)) + moves
        part = min(1.0, left / period)
        moved = float((moves.sum(axis=1) - (held * moves).sum(axis=1)).sum())
        cost += part * (kernel.fault_s * float(used.sum()) + kernel.move_s * moved)
        # During a walk the part that it has come through lies as after it.
        mean += (held * (1.0 - part / 2) + after * (part / 2)) * (part * period)
        clock += part * period
        passes += part
        held = after
        tenths = int(10 * float((users * held).sum() / used.sum()) + 1e-9)
        if tenths >= _TENTHS_LOCAL:
            longer = 1.0 + 0.1 * max(1, tenths - _TENTHS_LOCAL)
            period = min(period * longer, max(period, kernel.scan_period_max_s))
    mean += held * max(0.0, seconds - clock)
    return mean / seconds if seconds > 0 else held, cost, passes
