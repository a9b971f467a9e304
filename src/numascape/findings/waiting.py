# SPDX-License-Identifier: Apache-2.0
"""Finds the structures that threads access mostly while they wait for another thread."""

from __future__ import annotations

import polars as pl

from numascape.findings.sources import Sources
from numascape.findings.thresholds import MIN_WAITING_SHARE


def used_while_waiting(lines: pl.DataFrame, sources: Sources, least: float) -> frozenset[int]:
    """The structures that threads access mostly in loops that wait; `lines` is the trace's table.

    Lines with few accesses are not examined. `least` is the smallest number of accesses of a
    structure that is examined.
    """
    by_line = lines.group_by("structure", "file", "line").agg(
        count=(pl.col("reads") + pl.col("writes")).sum()
    )
    waiting: dict[int, int] = {}
    every: dict[int, int] = {}
    for structure, file, line, count in by_line.iter_rows():
        every[structure] = every.get(structure, 0) + count
        if count >= least * MIN_WAITING_SHARE and sources.waits(file, line):
            waiting[structure] = waiting.get(structure, 0) + count
    return frozenset(
        structure
        for structure, count in waiting.items()
        if count >= MIN_WAITING_SHARE * every[structure]
    )
