# SPDX-License-Identifier: Apache-2.0
"""Finds structures that could be copied to each node, because they are only read after filling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from numascape.analysis.page_index import page_index, rows_of_accesses
from numascape.prediction.demand import Demand
from numascape.prediction.speeds import CORE_GB_S, Speeds
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES
from numascape.trace.once import once_per_trace


@once_per_trace
def worth_copying(trace: Trace) -> list[int]:
    """The ids of the structures that several threads read, and that no thread writes after filling.

    Filling is the writes by each page's first toucher, in phases that ran once, with at most one
    write per byte. Stacks are left out, because their addresses belong to threads. Structures with
    less than a hundredth of the accesses are left out, because their placement hardly changes the
    predicted time.
    """
    repeated = trace.phases.filter(pl.col("repetitions") > 1)["phase"]
    candidates = _read_by_several(trace, repeated)
    if not len(candidates):
        return []
    every = rows_of_accesses(trace)
    chosen = trace.accesses["structure"].is_in(candidates.implode()).to_numpy() & (every >= 0)
    page, rows = every[chosen], trace.accesses.filter(chosen)
    thread, writes = rows["thread"].to_numpy(), rows["writes"].to_numpy().astype(np.float64)
    index = page_index(trace)
    count = index.pages.height
    toucher, reader = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    toucher[index.rows(trace.first_touch)] = trace.first_touch["thread"].to_numpy()
    filling = toucher[page] == thread
    filled = np.bincount(page[filling], writes[filling], count)
    more = (filled > PAGE_BYTES) | (np.bincount(page, writes, count) > filled)
    reading = rows["reads"].to_numpy() > 0
    reader[page[reading]] = thread[reading]
    structure = rows["structure"]
    only_filled = set(candidates) - set(structure.filter(more[page]).unique())
    several = set(structure.filter(reading & (reader[page] != thread)).unique())
    return sorted(int(number) for number in only_filled & several)


def _read_by_several(trace: Trace, repeated: pl.Series) -> pl.Series:
    """The structures with enough accesses that several threads read, by their sums.

    Their single pages show whether all writes only fill them, and whether threads share them.
    """
    made = pl.col("reads") + pl.col("writes")
    by_thread = (
        trace.accesses.lazy()
        .group_by("structure", "thread")
        .agg(
            made=made.sum(),
            reads=pl.col("reads").sum(),
            writes=pl.col("writes").sum(),
            again=pl.col("writes").filter(pl.col("phase").is_in(repeated.implode())).sum(),
        )
        .collect()
    )
    least = 0.01 * float(by_thread["made"].sum())
    filled = trace.first_touch.group_by("structure").agg(pages=pl.len())
    return (
        by_thread.group_by("structure")
        .agg(pl.col("made", "writes", "again").sum(), readers=(pl.col("reads") > 0).sum())
        .join(trace.structures.select("structure", "kind"), on="structure")
        .join(filled, on="structure", how="left")
        .filter(
            pl.col("kind") != "stack",
            pl.col("made") >= least,
            pl.col("readers") > 1,
            pl.col("again") == 0,
            # Otherwise, a page has more writes than bytes, or writes after it was filled.
            pl.col("writes") <= pl.col("pages").fill_null(0) * PAGE_BYTES,
        )
        .sort("structure")["structure"]
    )


def bytes_of_copy(demand: Demand, structures: Sequence[int]) -> int:
    """The bytes of one copy: all pages of these structures that the run used."""
    return PAGE_BYTES * demand.number_of_pages(structures)


def seconds_to_copy(size: int, speeds: Speeds) -> float:
    """Return the cost of the copies: one thread per other node reads everything and writes it."""
    return 2.0 * size / (CORE_GB_S * 1e9) if len(speeds.cpu_nodes) > 1 else 0.0
