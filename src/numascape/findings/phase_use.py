# SPDX-License-Identifier: Apache-2.0
"""Who uses the pages of one structure in a phase, in arrays with one entry for each page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from numascape.analysis.page_index import positions
from numascape.findings.page_use import Floats, Integers


@dataclass(frozen=True, eq=False)
class PhaseUse:
    """The accesses of a phase: `count` of them by each thread to each page.

    There is one row for each pair of `page` and `thread`; pages have numbers below `bound`.
    """

    page: Integers
    thread: Integers
    count: Floats
    bound: int

    @classmethod
    def of(cls, page: Integers, thread: Integers, count: Floats, bound: int) -> PhaseUse:
        """The use from rows, of which several may be of the same page and thread."""
        threads = int(thread.max(initial=0)) + 1
        at, found = positions(page * threads + thread, bound * threads)
        summed = np.asarray(np.bincount(at, count, len(found)), np.float64)
        return cls(found // threads, found % threads, summed, bound)

    @property
    def total(self) -> float:
        """All accesses of the phase."""
        return float(self.count.sum())

    @cached_property
    def share(self) -> Floats:
        """The part of the phase's accesses that goes to each page."""
        return np.asarray(np.bincount(self.page, self.count, self.bound)) / self.total

    @cached_property
    def owner(self) -> Integers:
        """The thread that uses each page most, the first of equal ones; -1 for unused pages."""
        most = np.full(self.bound, -1.0)
        np.maximum.at(most, self.page, self.count)
        owner = np.full(self.bound, -1, np.int64)
        # If a place is assigned several times, the last value stays: that of the first thread.
        busiest = np.flatnonzero(self.count == most[self.page])[::-1]
        owner[self.page[busiest]] = self.thread[busiest]
        return owner

    def changed(self, other: PhaseUse) -> float:
        """The share of the use that two phases have in common, on pages with different owners."""
        differs = (self.owner >= 0) & (other.owner >= 0) & (self.owner != other.owner)
        return float(np.minimum(self.share, other.share)[differs].sum())

    def by_others(self, other: PhaseUse) -> float:
        """Like `changed`, but on all pages, with the use in `other` by threads that are not owners.

        The owners are those of this phase.
        """
        owner = self.owner[other.page]
        others = (owner >= 0) & (owner != other.thread)
        then = np.bincount(other.page[others], other.count[others], self.bound) / other.total
        return float(np.minimum(self.share, then).sum())
