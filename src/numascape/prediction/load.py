# SPDX-License-Identifier: Apache-2.0
"""Computes the load of a demand with a placement: lines that threads wait for, and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.prediction.demand import Demand, Placed
from numascape.prediction.shared_fetches import last_level_caches, shared_moves
from numascape.prediction.speeds import Floats, Speeds
from numascape.trace.format import LINE_BYTES

# Factors by which assumptions are varied, one at a time, to find the interval.
_CORE_TIME: Final = (0.5, 2.0)
_LINES_IN_FLIGHT: Final = (0.5, 2.0)
_BANDWIDTH: Final = (0.85, 1.15)
KERNEL_TIME: Final = (0.5, 2.0)
"""Factors on the time of other work, such as handling faults."""


@dataclass(frozen=True)
class Tuning:
    """Factors on the model's times of threads, and on the lines from memory.

    The time of a thread includes accesses and waiting, because a measured run cannot separate them.
    Both factors are 1 unless a measured run calibrates them (`calibrated`).
    """

    thread_time: float = 1.0
    lines: float = 1.0


@dataclass(frozen=True, eq=False)
class Load:
    """Lines to wait for and bytes, as phases x threads x nodes of memory, and the nodes of threads.

    `computing` is phases x threads: the ns of accesses without waiting, and of other computing.

    `bytes` is between two bounds: with `min_bytes`, threads fetch shared lines once for all, and
    with `max_bytes`, each thread fetches them separately. `waits` is between two bounds: with
    `min_waits`, repeated lines are fetched in order (so that a prefetcher helps), and with
    `max_waits`, in an unpredictable order. `on` is threads x nodes: the share of a thread that runs
    on each node's CPUs.
    """

    computing: Floats
    waits: Floats
    min_waits: Floats
    max_waits: Floats
    bytes: Floats
    min_bytes: Floats
    max_bytes: Floats
    on: Floats

    def traffic(self) -> Floats:
        """Phases x nodes of CPUs x nodes of memory, in bytes."""
        return np.asarray(self.on.T @ self.bytes, np.float64)


@dataclass(frozen=True, eq=False)
class RunPlacement:
    """A named placement of the pages and threads of a run.

    `pages`: structure, instance, page, node (a number), share; or the shares of all pages of the
    demand on the machine's nodes, pages x nodes. `thread_nodes`: the node's number of
    each thread, or -1 for anywhere. Each node has a copy of the `copied` structures; making them
    takes time unless `copies_are_free`. `thread_seconds` is each thread's time for other work, such
    as handling faults.
    """

    pages: pl.DataFrame | Floats
    thread_nodes: npt.NDArray[np.int64]
    label: str = ""
    copied: Sequence[int] = ()
    copies_are_free: bool = False
    thread_seconds: float = 0.0


def placed_on(demand: Demand, speeds: Speeds, placement: RunPlacement) -> Placed:
    """The placement as shares of the pages and threads of the demand on each node."""
    numbers = np.asarray(placement.thread_nodes, np.int64)
    on = speeds.shares_of_threads(speeds.positions(numbers))
    pages = placement.pages
    shares = demand.shares(pages, speeds) if isinstance(pages, pl.DataFrame) else pages
    return Placed(shares, on, pages_of(demand, placement.copied))


def pages_of(demand: Demand, structures: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Whether each page of the demand belongs to one of these structures."""
    if not structures:  # the usual case, which must be fast
        return np.zeros(demand.pages.height, bool)
    return demand.pages["structure"].is_in(list(structures)).to_numpy()


def caches_of(on: Floats, speeds: Speeds) -> npt.NDArray[np.int64]:
    """The last-level cache of each thread, from the share of it that runs on each node."""
    home = np.where(on.max(axis=1) == 1.0, on.argmax(axis=1), -1)
    return last_level_caches(home, speeds)


def load_of(demand: Demand, speeds: Speeds, placed: Placed, tuning: Tuning) -> Load:
    """The load of the demand with this placement."""
    mean, least = shared_moves(demand, caches_of(placed.on, speeds))
    shared = bool((least < demand.moved).any())
    anew = bool(demand.again.any())
    longer = _longer(demand, speeds) if anew else demand.again
    amounts = [demand.moved, demand.lines]
    amounts += [mean, least] if shared else []
    if anew:
        amounts += [
            demand.lines + demand.again * (factor - 1.0) for factor in (np.sqrt(longer), longer)
        ]
    most, in_order, *others = demand.by_node(placed, *amounts)
    sent = [most, *others[:2]] if shared else [most]
    if placed.copied.any():
        # Writes go to the copies on the other nodes, too.
        back = np.where(placed.copied[demand.page], demand.moved - demand.lines, 0.0)
        elsewhere = (speeds.cpus > 0).astype(np.float64) - placed.on
        runs = Placed(np.zeros_like(placed.share), elsewhere, placed.copied)
        (copies,) = demand.by_node(runs, back)
        sent = [found + copies for found in sent]
    sent = [found * (LINE_BYTES * tuning.lines) for found in sent]
    # Each thread that shares a line waits for it, but the line is only fetched once.
    awaited = [in_order, *others[-2:]] if anew else [in_order]
    awaited = [found * (tuning.lines * tuning.thread_time) for found in awaited]
    # If there is one array, it stands for the mean and for both bounds.
    max_bytes, mean_bytes, min_bytes = sent if shared else sent * 3
    min_waits, mean_waits, max_waits = awaited if anew else awaited * 3
    return Load(
        demand.accesses * (speeds.core_ns + demand.computing_ns) * tuning.thread_time,
        mean_waits,
        min_waits,
        max_waits,
        mean_bytes,
        min_bytes,
        max_bytes,
        placed.on,
    )


def _longer(demand: Demand, speeds: Speeds) -> Floats:
    """How many times longer each row's thread waits for a line that cannot be prefetched.

    Without prefetching, only the lines within a core's instruction window are in flight together.
    This is the number of lines that the thread fetches in as many accesses as the window holds, and
    at least 1.
    """
    threads = demand.threads
    key = demand.phase * threads + demand.thread
    lines = np.bincount(key, demand.lines, demand.accesses.size)
    made = np.maximum(demand.accesses.ravel(), 1.0)
    flying = np.clip(speeds.window * lines / made, 1.0, speeds.lines_in_flight)
    return np.asarray((speeds.lines_in_flight / flying)[key])


def variations(load: Load, speeds: Speeds, demand: Demand) -> list[tuple[Load, Speeds]]:
    """The loads and speeds with each assumption at its lower and its upper bound."""
    flying, faster = speeds.lines_in_flight, (speeds.controller, speeds.link)
    return [
        *((replace(load, computing=load.computing * factor), speeds) for factor in _CORE_TIME),
        *((load, replace(speeds, lines_in_flight=flying * factor)) for factor in _LINES_IN_FLIGHT),
        *(
            (load, replace(speeds, controller=faster[0] * factor, link=faster[1] * factor))
            for factor in _BANDWIDTH
        ),
        *(
            (replace(load, waits=load.waits * factor, bytes=load.bytes * factor), speeds)
            for factor in (demand.least, demand.most)
        ),
        *((replace(load, waits=waits), speeds) for waits in (load.min_waits, load.max_waits)),
        *((replace(load, bytes=sent), speeds) for sent in (load.min_bytes, load.max_bytes)),
    ]
