# SPDX-License-Identifier: Apache-2.0
"""Makes the table `kernel_accesses`: the bytes that system calls read and wrote for threads."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from numascape.conversion.places import PLACE
from numascape.conversion.shard_groups import ShardGroup
from numascape.conversion.transfers import UNKNOWN_LINE, placed
from numascape.trace.schema import SCHEMAS

_SCHEMA = SCHEMAS["kernel_accesses"]
_KEY = [*PLACE, "thread", "phase"]


def kernel_access_table(
    group: ShardGroup,
    owners: pl.DataFrame,
    module_pages: tuple[pl.DataFrame, pl.DataFrame],
    ranks: pl.DataFrame,
) -> pl.DataFrame:
    """The table of a group's processes; its parameters are those of transfer_table."""
    rows = group.kernel_accesses
    if rows.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    # A call fills many lines. So if variables share a page, the bytes count for the variable that
    # covers most of the page.
    of_pages = rows.with_columns(line=pl.lit(UNKNOWN_LINE, dtype=pl.UInt32()))
    return sum_kernel_accesses([placed(group, of_pages, owners, module_pages, ranks).drop("line")])


def sum_kernel_accesses(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Join tables `kernel_accesses`; each page, thread and phase is there once."""
    sums = pl.concat(tables).group_by(_KEY).agg(pl.col("read_bytes", "written_bytes").sum())
    return sums.select(_SCHEMA.names()).cast(_SCHEMA).sort(_KEY)
