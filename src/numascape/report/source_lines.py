# SPDX-License-Identifier: Apache-2.0
"""The source places that touch pages first, and those that read and write structures."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.report.data import Lines

PAIRS = 8000
"""Maximum number of pairs of structure and place that a report shows."""
REST = ("other source lines", "", 0)
"""The place that replaces those of all pairs beyond PAIRS."""

_PLACE = ["function", "file", "line"]
_COUNTS = ["reads", "writes", "estimated"]


def shown_lines(lines: pl.DataFrame, position: pl.Series, phase: pl.Series) -> pl.DataFrame:
    """The table as position, phase, function, file, line, reads, writes, estimated.

    `position` is the position of each structure among the shown ones, or null; `phase` are the
    positions of the rows' phases. Beyond PAIRS pairs, the least used places of a structure become
    REST.
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


def lay_out_lines(lines: pl.DataFrame, places: pl.DataFrame, structures: int) -> Lines:
    """The report's table of `lines` (from shown_lines) with the indices of their `places`."""
    table = lines.join(places, on=_PLACE, how="left").sort("position", "place", "phase")
    begin = np.searchsorted(table["position"].to_numpy(), np.arange(structures + 1))
    return Lines(
        begin.astype(np.uint32),
        *(table[name].to_numpy() for name in ("phase", "place", *_COUNTS)),
    )
