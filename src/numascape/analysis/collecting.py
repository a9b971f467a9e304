# SPDX-License-Identifier: Apache-2.0
"""Which of Polars' engines computes a query on tables of a trace."""

from __future__ import annotations

import polars as pl

MANY_ROWS = 100_000
"""At or above this number of rows, the streaming engine is used. It needs less memory for large
tables, but its start takes as long as the other engine needs for tens of thousands of rows."""


def collected(query: pl.LazyFrame, rows: int) -> pl.DataFrame:
    """The result of a query on a table with this number of rows."""
    return query.collect(engine="streaming" if rows >= MANY_ROWS else "in-memory")
