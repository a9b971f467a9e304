# SPDX-License-Identifier: Apache-2.0
"""What a report holds, as plain data: everything the page shows and nothing about how.

A report is a run (one JSON-able dictionary), lists of structures and phases, and long tables of
columns that all structures share. Sums are exact at every level of folding: the cells of a
structure in a phase add up to the reads and writes of its rows in the trace's ``accesses`` table.

In the shapes below, S is the number of whole structures, E of all entries (whole structures, then
single instances of some), T of threads, P of phases, N of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from numascape.analysis.loops import Loop
from numascape.analysis.ownership import Owner
from numascape.findings.reading import Reading

HUGE_PAGE = 2 << 20
"""Bytes of a huge page on most machines."""

Column = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class StructureEntry:
    """One row of the structures table; sizes in bytes, pages in trace pages.

    A single instance has its number in ``instance`` and the position of its structure in
    ``parent``; both are -1 for a whole structure. ``address_offset`` is the address of the first
    byte modulo HUGE_PAGE, or -1 when unknown; a whole structure's is that of its instances where
    it is the same for all.
    """

    structure: int
    name: str
    kind: str
    owner: Owner
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
    instance: int = -1
    parent: int = -1
    address_offset: int = -1


@dataclass(frozen=True)
class FindingCard:
    """Findings of one kind at one place, as the first panel shows them.

    ``positions`` are the structures concerned (none: the run as a whole), the most important one
    first, and ``structures`` how many these are with those not shown. ``number`` and ``label`` say
    what is at stake, ``why`` and ``advice`` are the first one's; ``evidence`` are its numbers.
    """

    kind: str
    positions: tuple[int, ...]
    structures: int
    to_do: bool
    number: str
    label: str
    why: str
    advice: tuple[str, ...]
    evidence: tuple[tuple[str, str], ...]
    figure: str
    confidence: float
    place: str


@dataclass(frozen=True)
class Phase:
    """A phase shown; times are of its first beginning and its last end. Counts are the run's."""

    name: str
    file: str
    line: int
    start_ns: int
    end_ns: int
    repetitions: int
    reads: int
    writes: int


@dataclass(frozen=True)
class Spans:
    """When the phases ran: positions in the phases, microseconds since the run's start.

    In order of time; neighbouring spans of a phase are one where there are too many to show.
    """

    phase: Column
    start: Column
    end: Column


@dataclass(frozen=True)
class Sharing:
    """How much threads use the same pages.

    ``accesses`` holds G x G matrices by row: that of the run, and, if there are several phases,
    then each phase's. Element (i, j) is the sum over pages of min(accesses by i, accesses by j),
    the diagonal the accesses by i, where i and j are ``groups`` = G groups of threads; ``group``
    says which a thread is in (T).
    """

    groups: int
    group: Column
    accesses: Column


@dataclass(frozen=True)
class Traffic:
    """Accesses by the node of the thread and the node of the page, for the placement observed.

    ``nodes`` are node numbers; an index of N stands for several nodes or an unknown one.
    thread_node: T; accesses: P x (N + 1) x (N + 1), by the thread's node, then the page's;
    local, remote: S x P; thread_local, thread_remote: T x P. Accesses that are neither local nor
    remote are unknown.
    """

    nodes: tuple[int, ...]
    thread_node: Column
    accesses: Column
    local: Column
    remote: Column
    thread_local: Column
    thread_remote: Column


@dataclass(frozen=True)
class MemoryLines:
    """What is not in the cells, in cache lines instead of accesses.

    ``fetched`` from memory and ``written`` back to it: P. All others count both: ``shared`` is as
    ``Sharing.accesses``, the rest as in :class:`Traffic`.
    """

    fetched: Column
    written: Column
    shared: Column
    traffic: Column
    local: Column
    remote: Column
    thread_local: Column
    thread_remote: Column


@dataclass(frozen=True)
class Lines:
    """Which source places read and write a structure, sorted by structure, place, phase.

    ``begin[s] .. begin[s + 1]`` are the rows of the structure at position ``s`` (S + 1).
    ``estimated``: how many of the reads and writes are known from samples only; none where the
    trace does not say.
    """

    begin: Column
    phase: Column
    place: Column
    reads: Column
    writes: Column
    estimated: Column


@dataclass(frozen=True)
class Places:
    """Source places that touch pages first or use structures; index 0 is the unknown place.

    ``loop`` is the index of the innermost loop around the place in the report's loops, or -1.
    """

    function: tuple[str, ...]
    file: tuple[str, ...]
    line: tuple[int, ...]
    loop: tuple[int, ...]


@dataclass(frozen=True)
class SourceWindow:
    """A stretch of a source file's text, from line ``first`` on."""

    file: str
    first: int
    text: tuple[str, ...]


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
    findings: tuple[FindingCard, ...]
    phases: tuple[Phase, ...]
    places: Places
    columns: Columns
    cells: Cells
    first_touches: FirstTouches
    spans: Spans
    sharing: Sharing
    traffic: Traffic
    lines: Lines
    machine: dict[str, Any]
    memory_lines: MemoryLines | None = None
    """None where the run was recorded without a model of the caches."""
    loops: tuple[Loop, ...] = ()
    sources: tuple[SourceWindow, ...] | None = None
    """None where the report was asked to hold no source text."""
    folded: tuple[str, ...] = field(default=())
    """Sentences that say what the report sums up rather than shows one by one."""
