# SPDX-License-Identifier: Apache-2.0
"""The distinct places in the source that tables name, numbered."""

from __future__ import annotations

import polars as pl

_PLACE = ["function", "file", "line"]


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
