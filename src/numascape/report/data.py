# SPDX-License-Identifier: Apache-2.0
"""What a report holds, as plain data: everything the page shows and nothing about how.

A report is a run (one JSON-able dictionary), a list of structures, and three long tables of
columns that all structures share. Sums are exact at every level of folding: the cells of a
structure add up to the reads and writes of its rows in the trace's ``accesses`` table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Reading:
    """What a structure's figures show (``see``) and what to do about it (``advice``).

    ``stake`` is the number of accesses that the advice could bring closer to their threads.
    """

    see: tuple[str, ...]
    advice: tuple[str, ...]
    stake: int
    verdict: str
    """One or two words for the structures table, e.g. ``serial first touch``; may be empty."""


@dataclass(frozen=True)
class StructureEntry:
    """One row of the structures table; sizes in bytes, pages in trace pages."""

    structure: int
    name: str
    kind: str
    size: int
    pages: int
    instances: int
    module: str
    function: str
    file: str
    line: int
    call_stack: tuple[str, ...]
    named: bool
    reads: int
    writes: int
    threads: int
    touched_pages: int
    pages_per_column: int
    reading: Reading


@dataclass(frozen=True)
class Places:
    """Source places that first touched pages; index 0 is the unknown place."""

    function: tuple[str, ...]
    file: tuple[str, ...]
    line: tuple[int, ...]


@dataclass(frozen=True)
class Columns:
    """The horizontal axis of every structure: runs of pages, ascending within a structure.

    ``begin[s] .. begin[s + 1]`` are the columns of the structure at position ``s``. A column
    covers ``pages`` pages from page ``start``, of which ``touched`` were touched.
    """

    begin: Column
    start: Column
    pages: Column
    touched: Column


@dataclass(frozen=True)
class Cells:
    """Accesses per (thread, column) of a structure, sorted by row, then column.

    ``row`` is a position in the report's thread list, ``column`` counts from the structure's
    first column. Cells without an access are left out.
    """

    begin: Column
    row: Column
    column: Column
    reads: Column
    writes: Column


@dataclass(frozen=True)
class FirstTouches:
    """Pages first touched per (thread, column), sorted like :class:`Cells`.

    ``place`` is the index in :class:`Places` of the code that touched most of them first.
    """

    begin: Column
    row: Column
    column: Column
    pages: Column
    place: Column


@dataclass(frozen=True)
class Report:
    """Everything the page shows."""

    run: dict[str, Any]
    threads: list[dict[str, Any]]
    structures: tuple[StructureEntry, ...]
    places: Places
    columns: Columns
    cells: Cells
    first_touches: FirstTouches
    folded: tuple[str, ...] = field(default=())
    """Sentences that say what the report sums up rather than shows one by one."""
