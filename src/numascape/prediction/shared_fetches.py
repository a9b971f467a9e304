# SPDX-License-Identifier: Apache-2.0
"""Estimates how often memory sends the cache lines of threads that share a last-level cache.

A recorder models a separate cache for each thread. Threads that share a real cache may read the
same lines at about the same time. The first thread then fetches them from memory, and the others
find them in the cache or wait for the same fetch. A trace contains no times of accesses. So the
result is between two bounds: each line is fetched once for all threads of the cache, or once for
each thread. docs/prediction.md derives the bounds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from numascape.analysis.page_index import positions
from numascape.prediction.demand import Demand
from numascape.prediction.speeds import Floats, Speeds


def last_level_caches(position: npt.NDArray[np.int64], speeds: Speeds) -> npt.NDArray[np.int64]:
    """A number for the last-level cache of each thread; threads that share a cache have the same.

    `position` is the position of each thread's node in the machine, or -1. If a node has several
    such caches, its threads are divided among them in order, so that neighbours share a cache. A
    thread without a node has its own cache. If the machine has no known shared cache, each thread
    has its own.
    """
    threads = len(position)
    own = np.arange(threads)
    if speeds.sharers < 2:
        return own
    result = threads + own
    for node in speeds.cpu_nodes:
        mine = np.flatnonzero(position == node)
        caches = max(1, round(float(speeds.cpus[node]) / speeds.sharers))
        part = np.arange(len(mine)) * caches // max(len(mine), 1)
        if len(mine):
            result[mine] = mine[np.searchsorted(part, part)]
    return result


def shared_moves(demand: Demand, caches: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The lines from memory and back to it of each row, with shared fetches: the mean, the least.

    The mean is the geometric mean of the bounds.
    """
    if demand.groups is not None:
        return demand.groups.mean_moved, demand.groups.least_moved
    # Most placements of a run have their threads on the same nodes.
    kept: dict[bytes, tuple[Floats, Floats]] = vars(demand).setdefault("_shared_moves", {})
    key = caches.tobytes()
    if key not in kept:
        kept.clear()
        together = fetched_together(demand, caches)
        kept[key] = (demand.moved * np.sqrt(together), demand.moved * together)
    return kept[key]


def fetched_together(demand: Demand, caches: npt.NDArray[np.int64]) -> Floats:
    """The smallest share of each row's lines that comes from memory if threads share caches.

    The lower bound of the lines of a page that a cache fetches is the maximum of two numbers. The
    first is the lines of the thread that fetches most. So all lines that one thread fetches
    repeatedly count. The second is all lines of the page once per repetition of the phase, but not
    more than the sum of the threads' lines. So fetches in different repetitions do not count as
    shared. Only threads that do not write the page share fetches, because a write removes lines
    from other caches. For the same reason, the page must not be written more than once per
    repetition, which allows one thread to fill it.
    """
    result = np.ones(len(demand.page))
    pages = demand.pages.height
    place = demand.phase * pages + demand.page
    back = demand.moved - demand.lines
    entry, places = positions(place, pages * len(demand.phase_names))
    filled = np.bincount(entry, back, len(places)) <= demand.once[places // max(pages, 1)]
    read = np.flatnonzero((demand.lines > 0) & (back <= 0) & filled[entry])
    width = int(caches.max(initial=0)) + 1
    group = entry[read] * width + caches[demand.thread[read]]
    at, found = positions(group, len(places) * width)
    users = np.bincount(at, minlength=len(found))
    lines = demand.lines[read]
    total = np.bincount(at, lines, len(found))
    most = np.zeros(len(found))
    np.maximum.at(most, at, lines)
    once = np.zeros(len(found))
    once[at] = demand.once[demand.phase[read]]
    least = np.where(users > 1, np.maximum(most, np.minimum(total, once)), total)
    result[read] = (least / np.maximum(total, 1e-300))[at]
    return result
