# SPDX-License-Identifier: Apache-2.0
"""Numbers the pages of a table, so that amounts of pages can be added up in arrays.

A table of a large run has millions of rows. Grouping them by three columns takes about ten times as
long as adding them up by one small number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.conversion.places import packed

_DENSE: Final = 4
"""Maximum ratio of numbers to rows. If there would be more numbers, they are made dense."""

Ints = npt.NDArray[np.int64]


def page_numbers(table: pl.DataFrame) -> tuple[Ints, int]:
    """A number for the page of each row, in the order of PAGE, and a bound of all numbers.

    Some numbers below the bound may have no page.
    """
    if table.is_empty():
        return np.zeros(0, np.int64), 0
    sizes = table.group_by("structure").agg(pl.col("instance").max(), pl.col("page").max())
    sizes = sizes.sort("structure")
    number = sizes["structure"].to_numpy()
    width = sizes["page"].to_numpy().astype(np.float64) + 1
    extent = width * (sizes["instance"].to_numpy().astype(np.float64) + 1)
    if extent.sum() > _DENSE * (1 + table.height):
        return _dense(table)
    begin, wide = (
        np.zeros(int(number.max()) + 1, np.int64),
        np.zeros(int(number.max()) + 1, np.int64),
    )
    begin[number] = np.concatenate([[0], np.cumsum(extent[:-1])]).astype(np.int64)
    wide[number] = width.astype(np.int64)
    structure, instance, page = (table[name].to_numpy() for name in PAGE)
    return begin[structure] + instance * wide[structure] + page, int(extent.sum())


def _dense(table: pl.DataFrame) -> tuple[Ints, int]:
    """The rank of each row's page among the distinct ones."""
    rank = table.select(packed(table, PAGE).rank("dense")).to_series().to_numpy()
    found = rank.astype(np.int64) - 1
    return found, int(found.max()) + 1


def summed_by(table: pl.DataFrame, keys: Sequence[str], amounts: Sequence[str]) -> pl.DataFrame:
    """One row for each combination of the unsigned `keys`, in their order, with sums of `amounts`.

    Tables of a trace are in this order already.
    """
    table = table.select(*keys, *amounts)
    if table.is_empty():
        return table
    key = table.select(packed(table, keys)).to_series()
    if key.dtype != pl.UInt64:
        return table.group_by(keys).agg(pl.col(amounts).sum()).sort(keys)
    place = key.to_numpy()
    if (place[1:] < place[:-1]).any():
        order = np.argsort(place, kind="stable")
        table, place = table[order], place[order]
    first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
    if len(first) == table.height:
        return table
    sums = {name: np.add.reduceat(table[name].to_numpy(), first) for name in amounts}
    return table.select(pl.col(keys).gather(first)).with_columns(
        pl.Series(name, values, table.schema[name]) for name, values in sums.items()
    )
