# SPDX-License-Identifier: Apache-2.0
"""The matrices of shared accesses of a report: of the run, and of each phase."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.page_columns import Column
from numascape.analysis.sharing import PAGE, shared_accesses
from numascape.report.data import Sharing

GROUPS = 128
"""Maximum number of rows of a sharing matrix; with more threads, neighbours by number are
grouped."""
ELEMENTS = 65 * 64 * 64
"""Maximum number of elements of all matrices together; with 64 phases, the matrices have 64
rows."""


def measure_sharing(
    per_thread: pl.DataFrame, by_phase: pl.DataFrame | None, threads: int, phases: int
) -> Sharing:
    """The matrices of the run and, if `by_phase` is given, of each of its `phases`.

    `per_thread` has structure, instance, page, thread, reads, writes. `by_phase` also has phase,
    the position of the shown phase.
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

    measured = [shared_accesses(grouped(per_thread, PAGE), groups)]
    if by_phase is not None:
        for phase in range(phases):
            part = by_phase.filter(pl.col("phase") == phase)
            measured.append(shared_accesses(grouped(part, PAGE), groups))
    flat: Column = np.concatenate([matrix.ravel() for matrix in measured])
    return Sharing(groups, group, flat)
