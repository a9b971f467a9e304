# SPDX-License-Identifier: Apache-2.0
"""Sorts and groups by several small numbers at once.

A place is (structure, instance, page), often with a thread. Tables have millions of rows. Packed
into one number, these columns are sorted and grouped several times faster and with less memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

PLACE = ["structure", "instance", "page"]


def packed(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Expr:
    """An expression that orders and distinguishes rows of `frame` as its unsigned `columns` do.

    It is one 64-bit number if the columns' values fit into it, otherwise a struct.
    """
    widths = [int(frame[name].max() or 0).bit_length() for name in columns]  # type: ignore[arg-type]
    if sum(widths) > 64:
        return pl.struct(columns)
    key = pl.lit(0, dtype=pl.UInt64())
    for name, width in zip(columns, widths, strict=True):
        key = key * (1 << width) + pl.col(name).cast(pl.UInt64())
    return key


def sort_by(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """`frame` in ascending order of its unsigned `columns`."""
    return frame.sort(packed(frame, columns))


def last_of_each(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The last row of `frame` for each combination of its unsigned `columns`, in their order."""
    keyed = frame.with_columns(_key=packed(frame, columns)).sort("_key", maintain_order=True)
    last = (pl.col("_key") != pl.col("_key").shift(-1)).fill_null(value=True)
    return keyed.filter(last).drop("_key")


def sum_of_each(frame: pl.DataFrame, columns: Sequence[str], summed: Sequence[str]) -> pl.DataFrame:
    """One row per combination of the unsigned `columns`, with the sums of `summed`, sorted."""
    keyed = frame.with_columns(_key=packed(frame, columns)).sort("_key")
    fresh = (pl.col("_key") != pl.col("_key").shift(1)).fill_null(value=True)
    if keyed.select(fresh.all()).item():
        return keyed.drop("_key")
    return (
        keyed.with_columns(_key=fresh.cum_sum())
        .group_by("_key", maintain_order=True)
        .agg(*(pl.col(name).first() for name in columns), *(pl.col(name).sum() for name in summed))
        .drop("_key")
    )


def on_known_pages(tables: dict[str, pl.DataFrame], *names: str) -> dict[str, pl.DataFrame]:
    """Those of the named tables that there are, with the rows on pages that their structures have.

    The accesses to a page may all be counted for another variable on it: by groups of bursts, or by
    samples, it is sometimes this one. They may also not be counted at all, because the process
    ended meanwhile. The structure then has fewer pages.
    """
    pages = tables["structures"]["pages"]
    known = {name: tables[name] for name in names if name in tables}
    return {
        name: rows.filter(rows["page"] < pages.gather(rows["structure"]))
        for name, rows in known.items()
    }
