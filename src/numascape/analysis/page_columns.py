# SPDX-License-Identifier: Apache-2.0
"""Folded pages as plain data: runs of pages as columns, and what threads did in each.

An *entry* is a structure, or one instance of it. In the comments, E is the number of entries and P
the number of phases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Columns:
    """The horizontal axis of every entry: runs of pages, ascending within an entry.

    ``begin[e] .. begin[e + 1]`` are the columns of the entry at position ``e``. A column
    covers ``pages`` pages from page ``start``, of which ``touched`` were touched.
    """

    begin: Column
    start: Column
    pages: Column
    touched: Column


@dataclass(frozen=True)
class Cells:
    """Accesses per (thread, column) of an entry in a phase, sorted by row, then column.

    ``begin[e * P + p] .. begin[e * P + p + 1]`` are those of entry ``e`` in phase ``p``.
    ``row`` is a position in the report's thread list, ``column`` counts from the entry's first
    column. Cells without an access are left out. ``memory_lines`` and ``written_lines`` are cache
    lines from memory and back to it, None where the trace has none.
    """

    begin: Column
    row: Column
    column: Column
    reads: Column
    writes: Column
    memory_lines: Column | None = None
    written_lines: Column | None = None


@dataclass(frozen=True)
class FirstTouches:
    """Pages first touched per (thread, column), sorted like :class:`Cells`.

    ``place`` is the index, in the places given to fold_pages, of the code that touched most of them
    first.
    """

    begin: Column
    row: Column
    column: Column
    pages: Column
    place: Column
