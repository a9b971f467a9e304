# SPDX-License-Identifier: Apache-2.0
"""Lines that threads fetch through a last-level cache they share: how often memory sends them.

A recorder models a cache for each thread alone. Where threads that share a real one read the same
lines about the same time, the first brings them and the others find them, or wait for them with
it. A trace does not say when, so this is between two bounds: each line once for all threads of the
cache, and once for each thread. docs/prediction.md derives them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from numascape.prediction.demand import Demand
from numascape.prediction.speeds import Floats, Speeds


def last_level_caches(position: npt.NDArray[np.int64], speeds: Speeds) -> npt.NDArray[np.int64]:
    """The last-level cache that each thread uses, as a number; the same for those that share it.

    `position` is each thread's node, as its position in the machine, or -1. Where a node has
    several such caches, its threads are dealt to them in order, neighbours together; a thread of
    no node, or on a machine of which no cache is known to be shared, has one of its own.
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


def fetched_together(demand: Demand, caches: npt.NDArray[np.int64]) -> Floats:
    """The least part of each row's lines that comes from memory, by the sharing of caches.

    Of a page, a cache gets at least as many lines as the thread that fetches most, and as many as
    the page has for each time that the phase ran, as far as its threads fetch that many in all. So
    what comes again and again to one thread still does, and what each thread fetches in another
    repetition is not taken for shared. Only those share who do not write the page, and only if no
    more of it is written than all of it each time that the phase ran, as by who fills it: writing
    takes lines from other caches.
    """
    result = np.ones(len(demand.page))
    pages = demand.pages.height
    place = demand.phase * pages + demand.page
    back = demand.moved - demand.lines
    places, entry = np.unique(place, return_inverse=True)
    filled = np.bincount(entry, back, len(places)) <= demand.once[places // max(pages, 1)]
    read = np.flatnonzero((demand.lines > 0) & (back <= 0) & filled[entry])
    group = place[read] * (2 * len(caches)) + caches[demand.thread[read]]
    found, at, users = np.unique(group, return_inverse=True, return_counts=True)
    lines = demand.lines[read]
    total = np.bincount(at, lines, len(found))
    most = np.zeros(len(found))
    np.maximum.at(most, at, lines)
    once = np.zeros(len(found))
    once[at] = demand.once[demand.phase[read]]
    least = np.where(users > 1, np.maximum(most, np.minimum(total, once)), total)
    result[read] = (least / np.maximum(total, 1e-300))[at]
    return result
