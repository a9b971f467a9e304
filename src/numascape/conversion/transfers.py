# SPDX-License-Identifier: Apache-2.0
"""Makes the table `transfers`: the cache lines that threads took from each other."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import polars as pl

from numascape.conversion.shard_groups import ShardGroup
from numascape.conversion.shards import SMALL, UNKNOWN
from numascape.conversion.source_lines import PlacesOf
from numascape.trace.format import LINE_BYTES, PAGE_BYTES
from numascape.trace.schema import SCHEMAS

UNKNOWN_LINE = 0xFFFFFFFF

_SCHEMA = SCHEMAS["transfers"]
_SUMS = ("transfers", "travelling", "judged", "true_sharing")
_BYTES = ("from_bytes", "bytes")
_PLACES = pl.Schema(
    {"pc": pl.UInt64(), "function": pl.String(), "file": pl.String(), "line": pl.UInt32()}
)
_KEY = [name for name in _SCHEMA.names() if name not in (*_SUMS, *_BYTES)]


def transfer_table(
    group: ShardGroup,
    owners: pl.DataFrame,
    module_pages: tuple[pl.DataFrame, pl.DataFrame],
    ranks: pl.DataFrame,
    places_of: PlacesOf,
) -> pl.DataFrame:
    """The table of a group's processes.

    `owners` is that of owner_structures, `module_pages` are those of module_structures, and `ranks`
    (structure, page, rank) numbers the pages of scattered owners.
    """
    rows = group.transfers.rename({"to_bytes": "bytes", "shared": "true_sharing"})
    if rows.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    return sum_transfers(
        [_with_places(placed(group, rows, owners, module_pages, ranks), places_of)]
    )


def placed(
    group: ShardGroup,
    rows: pl.DataFrame,
    owners: pl.DataFrame,
    module_pages: tuple[pl.DataFrame, pl.DataFrame],
    ranks: pl.DataFrame,
) -> pl.DataFrame:
    """Replace the owner, and its page, by structure, instance and page; `line` is kept."""
    owned = rows.join(owners.select("owner", "kind", "structure", "instance"), on="owner")
    scattered = pl.col("kind").is_in([SMALL, UNKNOWN])
    small = owned.filter(scattered).join(ranks, on=["structure", "page"]).with_columns(page="rank")
    inside = rows.filter(pl.col("owner").is_in(group.owners_in_modules))
    columns = ["structure", "instance", *(name for name in rows.columns if name != "owner")]
    return pl.concat(
        frame.select(columns)
        for frame in (owned.filter(~scattered), small, _in_variables(inside, *module_pages))
    )


def sum_transfers(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Join tables `transfers`; each combination of the columns of the key is there once."""
    bits = [pl.col(name).bitwise_or() for name in _BYTES]
    rows = pl.concat(tables).group_by(_KEY).agg(*bits, *(pl.col(name).sum() for name in _SUMS))
    # If a program is killed, a record may be incomplete. A part may then be larger than the whole.
    for whole, part in pairwise(_SUMS):
        rows = rows.with_columns(pl.min_horizontal(whole, part).alias(part))
    return rows.filter(pl.col("transfers") > 0).select(_SCHEMA.names()).sort(_KEY)


def _in_variables(rows: pl.DataFrame, pages: pl.DataFrame, variables: pl.DataFrame) -> pl.DataFrame:
    """Replace (owner, page) of modules by the variable that has the line, or most of the page.

    If variables share the line, it is the variable with most of the used `bytes`, if these are
    known.
    """
    line = pl.col("variable_page").cast(pl.Int64) * PAGE_BYTES + pl.col("line") * LINE_BYTES
    start = (pl.col("address") % PAGE_BYTES).cast(pl.Int64)
    covers = (line + LINE_BYTES > start) & (line < start + pl.col("size").cast(pl.Int64))
    known = pl.col("line") != UNKNOWN_LINE
    large = pl.col("is_large").fill_null(value=False)
    rank = (
        pl.when(known & large)
        .then(pl.when(covers).then(2).otherwise(0))
        .otherwise(pl.when(known).then(1).otherwise(0))
    )
    joined = (
        rows.with_row_index("row")
        .join(pages.rename({"bytes": "bytes_on_page"}), on=["owner", "page"], how="left")
        .join(variables, on=["owner", "variable"], nulls_equal=True)
        .with_columns(
            rank=rank,
            bytes_on_page=pl.col("bytes_on_page").fill_null(0),
            begin=(start - line).fill_null(0).clip(0, LINE_BYTES),
            end=(start + pl.col("size").cast(pl.Int64) - line).fill_null(0).clip(0, LINE_BYTES),
        )
    )
    joined = joined.with_columns(used=_used_bytes(joined))
    best = joined.sort("row", "rank", "used", "bytes_on_page", descending=[False, True, True, True])
    return best.unique("row", keep="first", maintain_order=True).with_columns(
        page=pl.coalesce("variable_page", "page")
    )


def _used_bytes(rows: pl.DataFrame) -> pl.Series:
    """How many of the used `bytes` of a line are in the part of it from `begin` to `end`."""
    if "bytes" not in rows.columns:
        return pl.zeros(rows.height, dtype=pl.UInt32, eager=True)
    below = pl.Series([(1 << byte) - 1 for byte in range(LINE_BYTES + 1)], dtype=pl.UInt64)
    part = below.gather(rows["begin"]) ^ below.gather(rows["end"])
    return (rows["bytes"] & part).bitwise_count_ones()


def _with_places(rows: pl.DataFrame, places_of: PlacesOf) -> pl.DataFrame:
    """Replace the instructions by functions, files and lines, and `line` by `cache_line`."""
    pcs = pl.concat([rows["to_pc"], rows["from_pc"].alias("to_pc")]).unique().sort()
    pcs = pcs.filter(pcs > 0)
    numbers, found = places_of(pcs)
    places = pl.concat(
        [
            pl.DataFrame([(0, "", "", 0)], schema=_PLACES, orient="row"),
            found[numbers].with_columns(pc=pcs).select(_PLACES.names()).cast(_PLACES),
        ]
    )
    cache_line = pl.when(pl.col("line") == UNKNOWN_LINE).then(-1).otherwise("line")
    named = rows.with_columns(cache_line=cache_line.cast(pl.Int32())).drop("line")
    named = named.join(places, left_on="to_pc", right_on="pc")
    others = places.rename({name: f"from_{name}" for name in ("function", "file", "line")})
    return named.join(others, left_on="from_pc", right_on="pc").select(_SCHEMA.names())
