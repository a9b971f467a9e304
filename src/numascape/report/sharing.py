# SPDX-License-Identifier: Apache-2.0
"""How much threads use the same pages, counted on single pages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.report.data import Column, Sharing

GROUPS = 128
"""Rows that a sharing matrix may have; more threads are put together, neighbours by number."""
ELEMENTS = 65 * 64 * 64
"""Elements of all matrices together: with 64 phases, they have 64 rows."""

Counts = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.intp]

_PAGE = ["structure", "instance", "page"]


def measure_sharing(
    per_thread: pl.DataFrame, by_phase: pl.DataFrame | None, threads: int, phases: int
) -> Sharing:
    """The matrices of the run and, where `by_phase` is given, of each of its `phases`.

    `per_thread`: structure, instance, page, thread, reads, writes; `by_phase`: the same with
    phase, the position of the phase shown.
    """
    matrices = 1 if by_phase is None else 1 + phases
    size = 1
    while (rows := -(-threads // size)) > GROUPS or matrices * rows**2 > ELEMENTS:
        size += 1
    group = (np.arange(threads) // size).astype(np.uint32)
    groups = -(-threads // size)

    def grouped(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
        if size == 1:
            return table
        return (
            table.lazy()
            .group_by(*keys, thread=pl.col("thread") // size)
            .agg(pl.col("reads", "writes").sum())
            .collect()
        )

    measured = [shared_accesses(grouped(per_thread, _PAGE), groups)]
    if by_phase is not None:
        for phase in range(phases):
            part = by_phase.filter(pl.col("phase") == phase)
            measured.append(shared_accesses(grouped(part, _PAGE), groups))
    flat: Column = np.concatenate([matrix.ravel() for matrix in measured])
    return Sharing(groups, group, flat)


def shared_accesses(per_thread: pl.DataFrame, threads: int) -> Counts:
    """Threads x threads, symmetric: the sum over pages of min(accesses of i, accesses of j).

    The diagonal is the accesses of i. `per_thread` has one row per page (structure, instance,
    page) and thread, with reads and writes. Exact up to 2^53.
    """
    used = (
        per_thread.select(*_PAGE, "thread", count=pl.col("reads") + pl.col("writes"))
        .filter(pl.col("count") > 0)
        .sort(*_PAGE, "thread")
    )
    page = used.select(pl.struct(_PAGE).rle_id()).to_series().to_numpy()
    thread = used["thread"].to_numpy().astype(np.intp)
    count = used["count"].to_numpy().astype(np.float64)
    matrix = np.zeros(threads * threads)
    # Pair each row with the one `apart` rows further on while any two such are of one page.
    here: Indices = np.arange(len(page))
    apart = 0
    while len(here):
        least = np.minimum(count[here], count[here + apart])
        matrix += np.bincount(
            thread[here] * threads + thread[here + apart], least, threads * threads
        )
        apart += 1
        here = here[here + apart < len(page)]
        here = here[page[here] == page[here + apart]]
    upper = matrix.reshape(threads, threads)
    return (upper + np.triu(upper, 1).T).astype(np.uint64)
