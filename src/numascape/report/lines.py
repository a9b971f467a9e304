# SPDX-License-Identifier: Apache-2.0
"""Source places: those that touched pages first, and those that read and write structures."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.report.data import Lines

PAIRS = 8000
"""Pairs of structure and place that a report shows one by one."""
REST = ("other source lines", "", 0)
"""What stands for the places of all other pairs."""

_PLACE = ["function", "file", "line"]
_COUNTS = ["reads", "writes", "estimated"]


def shown_lines(lines: pl.DataFrame, position: pl.Series, phase: pl.Series) -> pl.DataFrame:
    """The trace's `lines` as position, phase, function, file, line, reads, writes, estimated.

    `position`: by structure in the trace, its position among those shown, or null; `phase`: the
    rows' phases as positions. Beyond PAIRS, the least used places of a structure become REST.
    """
    if "estimated" not in lines.columns:
        lines = lines.with_columns(estimated=pl.lit(0, pl.UInt64))
    table = (
        lines.with_columns(position=position.gather(lines["structure"]), phase=phase)
        .filter(pl.col("position").is_not_null())
        .group_by("position", "phase", *_PLACE)
        .agg(pl.col(_COUNTS).sum())
    )
    pairs = table.group_by("position", *_PLACE).agg(uses=(pl.col("reads") + pl.col("writes")).sum())
    if pairs.height <= PAIRS:
        return table
    rest = pairs.sort("uses", "position", *_PLACE, descending=[True, *[False] * 4]).slice(PAIRS)
    of_rest = pl.col("uses").is_not_null()
    renamed = [
        pl.when(of_rest).then(pl.lit(value, table.schema[name])).otherwise(pl.col(name)).alias(name)
        for name, value in zip(_PLACE, REST, strict=True)
    ]
    return (
        table.join(rest, on=["position", *_PLACE], how="left")
        .with_columns(renamed)
        .group_by("position", "phase", *_PLACE)
        .agg(pl.col(_COUNTS).sum())
    )


def source_places(*tables: pl.DataFrame) -> pl.DataFrame:
    """Distinct places of the tables with their index in ``place``; row 0 is the unknown place."""
    unknown = pl.DataFrame({"function": [""], "file": [""], "line": [0]}).with_columns(
        pl.col("line").cast(pl.UInt32)
    )
    named = (
        pl.concat(
            [table.lazy().select(_PLACE).unique().collect(engine="streaming") for table in tables]
        )
        .unique()
        .sort("file", "line", "function")
    )
    known = (pl.col("function") != "") | (pl.col("file") != "") | (pl.col("line") != 0)
    return pl.concat([unknown, named.filter(known)]).with_row_index("place")


def lay_out_lines(lines: pl.DataFrame, places: pl.DataFrame, structures: int) -> Lines:
    """The report's table of `lines` (from shown_lines) with the indices of their `places`."""
    table = lines.join(places, on=_PLACE, how="left").sort("position", "place", "phase")
    begin = np.searchsorted(table["position"].to_numpy(), np.arange(structures + 1))
    return Lines(
        begin.astype(np.uint32),
        *(table[name].to_numpy() for name in ("phase", "place", *_COUNTS)),
    )
