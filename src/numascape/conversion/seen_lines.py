# SPDX-License-Identifier: Apache-2.0
"""Makes the table `seen_lines`: the cache lines that samples saw threads use."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from numascape.conversion.shard_groups import ShardGroup
from numascape.conversion.transfers import UNKNOWN_LINE, placed
from numascape.trace.schema import SCHEMAS

_SCHEMA = SCHEMAS["seen_lines"]
_KEY = ["structure", "instance", "page", "cache_line", "thread", "phase"]


def seen_line_table(
    group: ShardGroup,
    owners: pl.DataFrame,
    module_pages: tuple[pl.DataFrame, pl.DataFrame],
    ranks: pl.DataFrame,
) -> pl.DataFrame:
    """The table of a group's processes; its parameters are those of transfer_table."""
    rows = group.seen_lines
    if rows.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    cache_line = pl.when(pl.col("line") == UNKNOWN_LINE).then(-1).otherwise("line")
    located = placed(group, rows, owners, module_pages, ranks)
    return sum_seen_lines(
        [located.with_columns(cache_line=cache_line.cast(pl.Int32())).drop("line")]
    )


def sum_seen_lines(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Join tables `seen_lines`; each page, cache line, thread and phase is there once."""
    one_line = pl.col("lines").bitwise_count_ones() == 1
    return (
        pl.concat(tables)
        .group_by(_KEY)
        .agg(pl.col("lines", "bytes").bitwise_or(), pl.col("times", "alone", "writing").sum())
        .with_columns(bytes=pl.when(one_line).then("bytes").otherwise(0))
        .select(_SCHEMA.names())
        .cast(_SCHEMA)
        .sort(_KEY)
    )
