# SPDX-License-Identifier: Apache-2.0
"""The kernel's NUMA balancing: which pages it would have moved by when, and what that costs.

The kernel walks through a process's memory again and again and makes pages fault at their next
use. A page's first such fault moves it to the node of the faulting CPU; later ones only when the
fault before was from that node as well (kernel/sched/fair.c and mm/mempolicy.c; docs/predict.md
gives versions). Who faults is who accesses, so nodes fault in proportion to their accesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.machine import Machine
from numascape.prediction.demand import PAGE, PAGE_BYTES
from numascape.prediction.policies import SCHEMA, first_touch
from numascape.prediction.speeds import Floats, speeds_of
from numascape.trace import Trace

_MOST_PASSES: Final = 64
"""Walks through memory that are followed; then pages are where they stay."""
_TENTHS_LOCAL: Final = 7
"""Of 10 faults, how many must have been local for the kernel to take more time over a walk."""


@dataclass(frozen=True)
class BalancingKernel:
    """The kernel's settings, in their defaults, and what a fault and a move cost (assumed)."""

    scan_delay_s: float = 1.0
    scan_period_min_s: float = 1.0
    scan_period_max_s: float = 60.0
    scan_bytes_per_s: float = 2560.0 * (1 << 20)
    fault_s: float = 1e-6
    move_s: float = 5e-6


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
    users = _users(trace, index, speeds.positions(thread_nodes), speeds.cpus, shape)
    resident = resident_bytes or float(index.height * PAGE_BYTES)
    mean, cost, passes = _walks(held, users, seconds, resident, kernel)
    frames = [
        index.select(PAGE).with_columns(
            node=pl.lit(number, pl.Int32), share=pl.Series(mean[:, position])
        )
        for position, number in enumerate(speeds.nodes)
    ]
    pages = pl.concat(frames).filter(pl.col("share") > 0).cast(SCHEMA)
    # The trace's pages stand for all of the run's.
    scale = resident / max(index.height * PAGE_BYTES, 1)
    return BalancedPages(pages, cost * scale / max(trace.threads.height, 1), passes)


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
) -> Floats:
    """Pages x nodes: the part of each page's accesses that each node's CPUs make; 0 for unused."""
    used = trace.accesses.join(index, on=PAGE).select(
        "row", "thread", count=(pl.col("reads") + pl.col("writes")).cast(pl.Float64)
    )
    row, count = used["row"].to_numpy().astype(np.int64), used["count"].to_numpy()
    node = position[used["thread"].to_numpy()]
    fixed = node >= 0
    result = _matrix(row[fixed], node[fixed], count[fixed], shape)
    anywhere = np.bincount(row[~fixed], count[~fixed], shape[0])
    result = result + anywhere[:, None] * (cpus / cpus.sum())
    total = result.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(result, total, out=np.zeros_like(result), where=total > 0))


def _walks(
    held: Floats, users: Floats, seconds: float, resident: float, kernel: BalancingKernel
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
        moves = users if number == 0 else users**2
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
