# SPDX-License-Identifier: Apache-2.0
"""What a placement makes of a demand: lines that threads wait for, and bytes of each memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.prediction.demand import LINE_BYTES, Demand, Placed
from numascape.prediction.shared_fetches import fetched_together, last_level_caches
from numascape.prediction.speeds import Floats, Speeds

# What is varied, one at a time, for the interval, and by which factors.
_CORE_TIME: Final = (0.5, 2.0)
_LINES_IN_FLIGHT: Final = (0.5, 2.0)
_BANDWIDTH: Final = (0.85, 1.15)
KERNEL_TIME: Final = (0.5, 2.0)
"""Factors on what threads do besides, such as handling faults."""


@dataclass(frozen=True)
class Tuning:
    """Factors on what the model takes for threads' time, and for the lines from memory.

    A thread's time is both its accesses' and its waiting, because a measured run cannot tell them
    apart. 1 and 1 unless a measured run calibrates them (`calibrated`).
    """

    thread_time: float = 1.0
    lines: float = 1.0


@dataclass(frozen=True, eq=False)
class Load:
    """Phases x threads x nodes of memory, in lines to wait for and bytes; and where threads run.

    `bytes` are between `least_bytes` and `most_bytes`, which is what the memories send when threads
    fetch the lines that they share together, and when each fetches its own. `waits` are between
    `least_waits` and `most_waits`, when all lines that come again are fetched in order, and when
    all are where nobody could know. `on` is threads x nodes: the part of a thread that runs on each
    node's CPUs.
    """

    accesses: Floats
    waits: Floats
    least_waits: Floats
    most_waits: Floats
    bytes: Floats
    least_bytes: Floats
    most_bytes: Floats
    on: Floats

    def traffic(self) -> Floats:
        """Phases x nodes of CPUs x nodes of memory, in bytes."""
        return np.asarray(self.on.T @ self.bytes, np.float64)


def placed_on(
    demand: Demand,
    speeds: Speeds,
    pages: pl.DataFrame,
    thread_nodes: npt.NDArray[np.int64],
    copied: Sequence[int] = (),
) -> Placed:
    """Pages as in the frame, but a copy of these structures' on each node; threads on the nodes."""
    position = speeds.positions(np.asarray(thread_nodes, np.int64))
    on = np.zeros((demand.threads, len(speeds.nodes)))
    fixed = np.flatnonzero(position >= 0)
    on[fixed, position[fixed]] = 1.0
    cpus = np.asarray(speeds.cpus, float)
    on[position < 0] = cpus / cpus.sum()
    chosen = demand.pages["structure"].is_in(list(copied)).to_numpy()
    return Placed(demand.shares(pages, speeds), on, chosen)


def load_of(demand: Demand, speeds: Speeds, placed: Placed, tuning: Tuning) -> Load:
    """The load that the demand makes there."""
    home = np.where(placed.on.max(axis=1) == 1.0, placed.on.argmax(axis=1), -1)
    together = fetched_together(demand, last_level_caches(home, speeds))

    def sent(part: Floats) -> Floats:
        found = demand.by_node(placed, demand.moved * part)
        if placed.copied.any():
            # What is written goes to the other nodes' copies, too.
            back = np.where(placed.copied[demand.page], demand.moved - demand.lines, 0.0)
            runs = Placed(np.zeros_like(placed.share), 1.0 * (speeds.cpus > 0) - placed.on,
                          placed.copied)  # fmt: skip
            found = found + demand.by_node(runs, back)
        return found * (LINE_BYTES * tuning.lines)

    # Who shares a line waits for it with the one that fetches it.
    def awaited(lines: Floats) -> Floats:
        return demand.by_node(placed, lines) * (tuning.lines * tuning.thread_time)

    most = sent(np.ones(len(together)))
    shared = bool((together < 1.0).any())
    in_order = awaited(demand.lines)
    anew = bool(demand.again.any())
    longer = _longer(demand, speeds) if anew else demand.again
    return Load(
        demand.accesses * tuning.thread_time,
        awaited(demand.lines + demand.again * (np.sqrt(longer) - 1.0)) if anew else in_order,
        in_order,
        awaited(demand.lines + demand.again * (longer - 1.0)) if anew else in_order,
        # The geometric mean of the bounds.
        sent(np.sqrt(together)) if shared else most,
        sent(together) if shared else most,
        most,
        placed.on,
    )


def _longer(demand: Demand, speeds: Speeds) -> Floats:
    """How much longer each row's thread waits for a line that no prefetcher could foresee.

    Then only the lines among the instructions that a core looks at together are in flight at once:
    as many as the thread fetches in that many accesses, and the one that it waits for.
    """
    threads = demand.threads
    key = demand.phase * threads + demand.thread
    lines = np.bincount(key, demand.lines, demand.accesses.size)
    made = np.maximum(demand.accesses.ravel(), 1.0)
    flying = np.clip(speeds.window * lines / made, 1.0, speeds.lines_in_flight)
    return np.asarray((speeds.lines_in_flight / flying)[key])


def variations(load: Load, speeds: Speeds, demand: Demand) -> list[tuple[Load, Speeds]]:
    """What the model assumes, each once at either end of what it could be."""
    flying, faster = speeds.lines_in_flight, (speeds.controller, speeds.link)
    return [
        *((replace(load, accesses=load.accesses * factor), speeds) for factor in _CORE_TIME),
        *((load, replace(speeds, lines_in_flight=flying * factor)) for factor in _LINES_IN_FLIGHT),
        *(
            (load, replace(speeds, controller=faster[0] * factor, link=faster[1] * factor))
            for factor in _BANDWIDTH
        ),
        *(
            (replace(load, waits=load.waits * factor, bytes=load.bytes * factor), speeds)
            for factor in (demand.least, demand.most)
        ),
        *((replace(load, waits=waits), speeds) for waits in (load.least_waits, load.most_waits)),
        *((replace(load, bytes=sent), speeds) for sent in (load.least_bytes, load.most_bytes)),
    ]
