# SPDX-License-Identifier: Apache-2.0
"""Folds a map of pages until its cells are visible in print."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from numascape.figures.tables import CountArray, Floats, Indices, PageMap

_ALONE = 3


def make_visible(pages: PageMap, columns: int, rows: int) -> PageMap:
    """Merge columns until each is at least 1 / `columns` of the axis wide; rows likewise.

    If few pages of a large reservation are touched, their columns would be thinner than a
    printer's dot. Sums do not change. A widened column also covers untouched pages.
    """
    used = np.flatnonzero(pages.weight)
    if not len(used):
        return pages
    begin, end, groups = _widened(pages, used, columns)
    edges = np.unique(np.concatenate([[0.0], begin, end, [pages.edges[-1]]]))
    at = np.searchsorted(edges, begin)
    per_row = -(-pages.threads // rows)
    height = -(-pages.threads // per_row)
    width = len(edges) - 1

    def added(grid: CountArray) -> CountArray:
        by_column = np.add.reduceat(grid[:, used], groups, axis=1)
        folded = np.zeros((height, width), np.uint64)
        folded[:, at] = np.add.reduceat(by_column, np.arange(0, pages.threads, per_row), axis=0)
        return folded

    weight = np.zeros(width)
    weight[at] = np.add.reduceat(pages.weight[used], groups)
    # A column has the place of most of its pages. This place stays, because it is written last.
    row, column = np.nonzero(pages.first_touched)
    ascending = np.argsort(pages.first_touched[row, column], kind="stable")
    row, column = row[ascending], column[ascending]
    group = np.searchsorted(used[groups], column, side="right") - 1
    place = np.full((height, width), -1, np.int64)
    place[row // per_row, at[group]] = pages.place[row, column]
    return replace(
        pages,
        threads_per_row=per_row,
        edges=edges,
        weight=weight,
        reads=added(pages.reads),
        writes=added(pages.writes),
        first_touched=added(pages.first_touched),
        place=place,
    )


def _widened(
    pages: PageMap, used: npt.NDArray[np.intp], columns: int
) -> tuple[Floats, Floats, Indices]:
    """The start and end, in pages, of the columns to draw, and the first of `used` in each."""
    left, right = pages.edges[used], pages.edges[used + 1]
    step = pages.edges[-1] / columns
    if step > 1:  # otherwise a single page is wide enough
        # Widen single marks among many untouched pages, or the frame of the axes would hide them.
        alone = pages.weight.sum() < pages.edges[-1] / 2
        least = (_ALONE if alone else 1) * step
        left = np.minimum(np.floor(left / step) * step, pages.edges[-1] - least)
        right = np.maximum(left + least, np.round(right / step) * step)
    groups = np.flatnonzero(np.diff(left, prepend=-1.0))
    begin = left[groups]
    limit = np.append(begin[1:], pages.edges[-1])
    return begin, np.minimum(np.maximum.reduceat(right, groups), limit), groups
