# SPDX-License-Identifier: Apache-2.0
"""Moves the serial initialisations of a run into a separate phase, before the work.

A program that creates its threads itself has no phases. If its run were predicted as one phase, the
other threads would seem to wait for the thread that initialises everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.page_index import positions, rows_of_accesses
from numascape.prediction.demand import Demand
from numascape.trace import Trace
from numascape.trace.derived import DerivedTrace
from numascape.trace.format import PAGE_BYTES
from numascape.trace.once import once_per_trace
from numascape.trace.phase import loose_phases

SERIAL_SHARE: Final = 0.8
"""At or above this share of a structure's pages that one thread touched first, first touch is
serial. A parallel initialisation by two threads gives 0.5. The rest up to 1 allows for halos, and
for parts that are filled later."""


@dataclass(frozen=True, eq=False)
class WithInitialisation(DerivedTrace):
    """The trace `whole` with one more phase: writes of serial touchers to others' pages."""

    touchers: pl.DataFrame = field(kw_only=True)
    """structure, thread."""

    @cached_property
    def phases(self) -> pl.DataFrame:
        """The phases of the run, and the initialisation."""
        last = self.whole.phases.tail(1).with_columns(
            phase=pl.lit(self.whole.phases.height, pl.UInt32),
            name=pl.lit("initialisation"),
            repetitions=pl.lit(1, pl.UInt32),
        )
        return pl.concat([self.whole.phases, last])

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """The accesses; those of initialisations are in the additional phase."""
        rows = self.whole.accesses
        page = rows_of_accesses(self.whole)
        count = (rows["reads"] + rows["writes"]).to_numpy()
        most = np.zeros(int(page.max(initial=0)) + 1, count.dtype)
        # A row without accesses may be of a page without a number.
        counted = np.flatnonzero(page >= 0)
        np.maximum.at(most, page[counted], count[counted])
        loose = np.zeros(self.whole.phases.height, bool)
        loose[loose_phases(self.whole)] = True
        toucher = np.full(self.whole.structures.height, -1, np.int64)
        toucher[self.touchers["structure"].to_numpy()] = self.touchers["thread"].to_numpy()
        # At most one write per byte, and fewer accesses than the main user of the page.
        initial = (
            (page >= 0)
            & loose[rows["phase"].to_numpy()]
            & (toucher[rows["structure"].to_numpy()] == rows["thread"].to_numpy())
            & (count < most[page])
            & (rows["writes"].to_numpy() <= PAGE_BYTES)
        )
        phase = np.where(initial, self.whole.phases.height, rows["phase"].to_numpy())
        return rows.with_columns(phase=pl.Series(phase, dtype=pl.UInt32))


@once_per_trace
def with_initialisation(trace: Trace) -> Trace:
    """The trace; if it has serial initialisations, they are in a separate phase, the last one."""
    touchers = (
        trace.first_touch.lazy()
        .group_by("structure", "thread")
        .agg(pages=pl.len())
        .filter(pl.col("pages") >= SERIAL_SHARE * pl.col("pages").sum().over("structure"))
        .select("structure", "thread")
        .collect()
    )
    if isinstance(trace, WithInitialisation) or touchers.is_empty():
        return trace
    return WithInitialisation(trace.path, trace.info, whole=trace, touchers=touchers)


def initialised_by_users(
    demand: Demand, structures: npt.NDArray[np.int64] | list[int], phase: int
) -> Demand:
    """The demand if these structures were initialised in parallel, by the threads that use them.

    `phase` is the phase of the initialisation. Its rows move to the thread with most other accesses
    to the page, and stay where no other thread uses it.
    """
    users = main_users(demand, phase)
    wanted = demand.pages["structure"].is_in(list(structures)).to_numpy()
    users[~wanted] = -1
    moved = np.flatnonzero((demand.phase == phase) & (users[demand.page] >= 0))
    thread, accesses = demand.thread.copy(), demand.accesses.copy()
    thread[moved] = users[demand.page[moved]]
    np.subtract.at(accesses[phase], demand.thread[moved], demand.counts[moved])
    np.add.at(accesses[phase], thread[moved], demand.counts[moved])
    return replace(demand, thread=thread, accesses=accesses)


def main_users(demand: Demand, phase: int) -> npt.NDArray[np.int64]:
    """For each page, the thread with most accesses in the other phases; -1 if there is none.

    -2 for a page that is not used in the phase, whose other users do not matter.
    """
    initial = demand.phase == phase
    needed = np.zeros(demand.pages.height, bool)
    needed[demand.page[initial]] = True
    users = np.where(needed, -1, -2).astype(np.int64)
    if not needed.any():
        return users
    rows = np.flatnonzero(needed[demand.page] & ~initial)
    if not len(rows):
        return users
    key = demand.page[rows] * demand.threads + demand.thread[rows]
    at, found = positions(key, len(needed) * demand.threads)
    made = np.bincount(at, demand.counts[rows], len(found))
    page = found // demand.threads
    first = np.flatnonzero(np.append(True, page[1:] != page[:-1]))
    most = np.repeat(np.maximum.reduceat(made, first), np.diff(np.append(first, len(page))))
    # If counts are equal, the thread with the smallest number is taken: it is assigned last.
    largest = np.flatnonzero(made == most)[::-1]
    users[page[largest]] = found[largest] % demand.threads
    return users
