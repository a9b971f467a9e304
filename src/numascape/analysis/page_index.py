# SPDX-License-Identifier: Apache-2.0
"""Numbers the pages of a trace, so that tables of pages need no joins by three columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.collecting import collected
from numascape.analysis.sharing import PAGE
from numascape.errors import NumascapeError
from numascape.trace import Trace
from numascape.trace.derived import DerivedTrace
from numascape.trace.once import once_per_trace

_DENSE: Final = 4
"""An array with a place for each possible key is made if there are at most this many keys per page.
Otherwise, the keys are sorted and searched."""
_MOST: Final = 1 << 62
"""More pages than any machine has. Larger numbers would not fit into the integers here."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PageIndex:
    """The pages of a trace, sorted by the columns of PAGE, and their rows by these columns."""

    pages: pl.DataFrame
    """PAGE, row."""
    _begin: Ints
    """The number of the first page of each structure."""
    _width: Ints
    _instances: Ints
    _places: Ints | None
    """The row of each possible key, or -1. None: these are too many, and `_keys` are searched."""
    _keys: Ints

    def rows(self, table: pl.DataFrame) -> Ints:
        """The row of each page of a table with the columns of PAGE; -1 if it is not there."""
        structure, instance, page = (table[name].to_numpy() for name in PAGE)
        if not len(self._keys):
            return np.full(table.height, -1, np.int64)
        known = structure < len(self._begin)
        if not known.all():
            structure = np.where(known, structure, 0)
        width = self._width[structure]
        known &= (page < width) & (instance < self._instances[structure])
        key = self._begin[structure] + instance * width + page
        # In most tables, all pages are in range.
        all_known = bool(known.all())
        key = key if all_known else np.where(known, key, 0)
        if self._places is not None:
            found = self._places[key]
        else:
            at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
            found = np.where(self._keys[at] == key, at, -1)
        return found if all_known else np.where(known, found, -1)


@once_per_trace
def page_index(trace: Trace) -> PageIndex:
    """The pages that the run accessed or touched first."""
    if isinstance(trace, DerivedTrace) and trace.same_pages:
        return page_index(trace.whole)
    used = trace.accesses.filter(pl.col("reads") + pl.col("writes") > 0)
    return index_of(used, trace.first_touch)


@once_per_trace
def rows_of_accesses(trace: Trace) -> Ints:
    """The row in `page_index` of the page of each row of the trace's accesses; -1 if unused."""
    if isinstance(trace, DerivedTrace) and trace.same_pages:
        return rows_of_accesses(trace.whole)
    return page_index(trace).rows(trace.accesses)


def index_of(*tables: pl.DataFrame) -> PageIndex:
    """The pages that are in any of the tables with the columns of PAGE.

    Raises NumascapeError if structures are larger than any memory.
    """
    every = pl.concat([table.lazy().select(PAGE) for table in tables])
    largest = every.group_by("structure").agg(
        width=pl.col("page").max(), instances=pl.col("instance").max()
    )
    sizes = collected(largest, sum(table.height for table in tables))
    number = sizes["structure"].to_numpy().astype(np.int64)
    count = int(number.max(initial=-1)) + 1
    width, instances = np.zeros(count, np.int64), np.zeros(count, np.int64)
    width[number] = sizes["width"].to_numpy().astype(np.int64) + 1
    instances[number] = sizes["instances"].to_numpy().astype(np.int64) + 1
    extent = [int(w) * int(i) for w, i in zip(width, instances, strict=True)]
    if sum(extent) > _MOST:
        raise NumascapeError("the trace is damaged: no machine has as many pages as its structures")
    begin = np.concatenate([[0], np.cumsum(extent)]).astype(np.int64)
    keys = [_keys(table, begin, width) for table in tables]
    places: Ints | None = None
    if begin[-1] <= _DENSE * (1 + sum(map(len, keys))):
        seen = np.zeros(begin[-1], bool)
        for found in keys:
            seen[found] = True
        distinct: Ints = np.flatnonzero(seen)
        places = np.full(begin[-1], -1, np.int64)
        places[distinct] = np.arange(len(distinct))
    else:
        distinct = np.unique(np.concatenate(keys))
    structure = np.searchsorted(begin, distinct, side="right") - 1
    inside = distinct - begin[structure]
    pages = pl.DataFrame(
        {
            "structure": structure.astype(np.uint32),
            "instance": (inside // width[structure]).astype(np.uint32),
            "page": (inside % width[structure]).astype(np.uint32),
            "row": np.arange(len(distinct)),
        }
    )
    return PageIndex(pages, begin[:-1], width, instances, places, distinct)


def _keys(table: pl.DataFrame, begin: Ints, width: Ints) -> Ints:
    structure, instance, page = (table[name].to_numpy().astype(np.int64) for name in PAGE)
    return np.asarray(begin[structure] + instance * width[structure] + page)


def positions(key: Ints, size: int) -> tuple[Ints, Ints]:
    """The position of each key among the distinct ones, and these in order; keys are below size."""
    if size > _DENSE * (1 + len(key)):
        found, at = np.unique(key, return_inverse=True)
        return at, found
    seen = np.zeros(size, bool)
    seen[key] = True
    distinct: Ints = np.flatnonzero(seen)
    place = np.zeros(size, np.int64)
    place[distinct] = np.arange(len(distinct))
    return place[key], distinct
