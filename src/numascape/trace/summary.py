# SPDX-License-Identifier: Apache-2.0
"""Summarises a trace in one row per structure."""

from __future__ import annotations

import polars as pl

from numascape.trace.schema import OPTIONAL_COLUMNS
from numascape.trace.trace import Trace


def structure_summary(trace: Trace) -> pl.DataFrame:
    """The structures with their accesses, most used first.

    Columns: structure (u32), name, kind, size (bytes, of the largest instance), instances, named,
    reads, writes (u64), share (of all accesses, 0 to 1), threads, readers, writers (number of
    threads that access, read, write it), first_touch_thread (the thread that touched most of its
    pages first, or null if unknown), first_touch_share (of its touched pages, or null), function,
    file, line. If the trace has memory_lines and written_lines (u64), they follow share.
    """
    lines = [name for name in OPTIONAL_COLUMNS["accesses"] if name in trace.accesses.columns]
    by_thread = (
        trace.accesses.lazy()
        .group_by("structure", "thread")
        .agg(pl.col("reads", "writes", *lines).sum())
        .group_by("structure")
        .agg(
            pl.col("reads", "writes", *lines).sum(),
            (pl.col("reads") + pl.col("writes") > 0).sum().alias("threads"),
            (pl.col("reads") > 0).sum().alias("readers"),
            (pl.col("writes") > 0).sum().alias("writers"),
        )
    )
    counts = pl.col("reads", "writes", *lines, "threads", "readers", "writers")
    accesses = pl.col("reads") + pl.col("writes")
    return (
        trace.structures.lazy()
        .join(by_thread, on="structure", how="left")
        .with_columns(counts.fill_null(0))
        .with_columns((accesses / accesses.sum()).fill_nan(0.0).alias("share"))
        .join(_first_touchers(trace.first_touch), on="structure", how="left")
        .sort(accesses, "structure", descending=[True, False])
        .select(
            *("structure", "name", "kind", "size", "instances", "named"),
            *("reads", "writes", "share", *lines, "threads", "readers", "writers"),
            *("first_touch_thread", "first_touch_share", "function", "file", "line"),
        )
        .collect()
    )


def _first_touchers(first_touch: pl.DataFrame) -> pl.LazyFrame:
    """By structure, the thread with most first touches (of equal ones the lowest) and its share."""
    return (
        first_touch.lazy()
        .group_by("structure", "thread")
        .agg(pl.len().alias("pages"))
        .sort("structure", "pages", "thread", descending=[False, True, False])
        .group_by("structure", maintain_order=True)
        .agg(
            pl.col("thread").first().alias("first_touch_thread"),
            (pl.col("pages").first() / pl.col("pages").sum()).alias("first_touch_share"),
        )
    )
