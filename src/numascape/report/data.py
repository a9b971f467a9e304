# SPDX-License-Identifier: Apache-2.0
"""The content of a report as plain data, without anything about its appearance.

A report is a run (one dictionary for JSON), lists of structures and phases, and long tables of
columns that all structures share. Sums are exact at every level of folding: the cells of a
structure in a phase have the same sum as its rows in the trace's ``accesses`` table.

In the shapes below, S is the number of whole structures, E of all entries (whole structures, then
single instances of some), T of threads, P of phases, N of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numascape.analysis.loops import Loop
from numascape.analysis.ownership import Owner
from numascape.analysis.page_columns import Cells, Column, Columns, FirstTouches
from numascape.findings.reading import Reading

HUGE_PAGE = 2 << 20
"""Bytes of a huge page on most machines."""


@dataclass(frozen=True)
class StructureEntry:
    """One row of the structures table; sizes in bytes, pages in trace pages.

    A single instance has its number in ``instance`` and the position of its structure in
    ``parent``; both are -1 for a whole structure. ``address_offset`` is the address of the first
    byte modulo HUGE_PAGE, or -1 if unknown. A whole structure has it if it is the same for all
    instances.
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
    """Findings of one kind at one place, for the first panel.

    ``positions`` are the affected structures (none: the whole run), the most important one first.
    ``structures`` is their number, including those that are not shown. ``number`` and ``label`` are
    the possible gain. ``why``, ``advice`` and the numbers in ``evidence`` are those of the first
    finding.
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
    """A shown phase; times are its first start and its last end. Counts are those of the run."""

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
    """When the phases ran: positions of phases, and microseconds since the run's start.

    They are in order of time. If there are too many spans, neighbours are merged.
    """

    phase: Column
    start: Column
    end: Column


@dataclass(frozen=True)
class Sharing:
    """A measure of how much threads use the same pages.

    ``accesses`` has G x G matrices by row: that of the run and, if there are several phases, that
    of each phase. Indices i and j are groups of threads, of which there are ``groups`` = G;
    ``group`` (T) is the group of each thread. Element (i, j) is the sum over pages of min(accesses
    by i, accesses by j); the diagonal is the accesses by i.
    """

    groups: int
    group: Column
    accesses: Column


@dataclass(frozen=True)
class Traffic:
    """Accesses by the node of the thread and the node of the page, with the observed placement.

    ``nodes`` are node numbers; the index N stands for several nodes or an unknown node. The shapes
    are: thread_node: T; accesses: P x (N + 1) x (N + 1), by the thread's node, then the page's
    node; local, remote: S x P; thread_local, thread_remote: T x P; path_remote: a row for each row
    of the report's ``access_paths``. It is unknown whether the remaining accesses are local or
    remote.
    """

    nodes: tuple[int, ...]
    thread_node: Column
    accesses: Column
    local: Column
    remote: Column
    thread_local: Column
    thread_remote: Column
    path_remote: Column


@dataclass(frozen=True)
class MemoryLines:
    """Sharing and traffic in cache lines instead of accesses.

    ``fetched`` (P) are lines from memory, ``written`` (P) lines back to it. All others count both:
    ``shared`` is like ``Sharing.accesses``, the rest is like :class:`Traffic`.
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
    """The source places that read and write a structure, sorted by structure, place, phase.

    ``begin[s] .. begin[s + 1]`` are the rows of the structure at position ``s`` (S + 1).
    ``estimated`` is how many of the reads and writes are assigned by samples only; 0 if the trace
    does not say.
    """

    begin: Column
    phase: Column
    place: Column
    reads: Column
    writes: Column
    estimated: Column


@dataclass(frozen=True)
class Places:
    """The source places that touch pages first or use structures; index 0 is the unknown place.

    ``loop`` is the index of the innermost loop around the place in the report's loops, or -1.
    """

    function: tuple[str, ...]
    file: tuple[str, ...]
    line: tuple[int, ...]
    loop: tuple[int, ...]


@dataclass(frozen=True)
class AccessPaths:
    """Sampled accesses by the calls that led to them. First touches are one access each.

    The calls are a tree: ``caller`` is the index of the calling function, which is smaller, or -1.
    ``function`` is empty if the function is unknown; ``module`` is the file name of its executable
    or library. Each row of the columns is a structure's ``position``, a phase, and the call
    ``path`` that made the ``accesses``; the calls above it led to it.
    """

    function: tuple[str, ...]
    file: tuple[str, ...]
    line: tuple[int, ...]
    module: tuple[str, ...]
    caller: tuple[int, ...]
    position: Column
    phase: Column
    path: Column
    accesses: Column


@dataclass(frozen=True)
class SourceWindow:
    """Consecutive lines of a source file, starting at line ``first``."""

    file: str
    first: int
    text: tuple[str, ...]


@dataclass(frozen=True)
class OnMachine:
    """The parts of the page that differ if the reader chooses another machine.

    ``threads`` (T) has the CPUs and nodes of each thread, ``readings`` (S) the text about each
    structure. The columns of ``line_traffic`` count cache lines; it is None if the run was recorded
    without a model of the caches.
    """

    machine: dict[str, Any]
    verdict: str
    laid_out: str
    threads: tuple[dict[str, Any], ...]
    findings: tuple[FindingCard, ...]
    readings: tuple[Reading, ...]
    traffic: Traffic
    line_traffic: Traffic | None = None


@dataclass(frozen=True)
class Report:
    """All data of the page."""

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
    """None if the run was recorded without a model of the caches."""
    access_paths: AccessPaths | None = None
    """None if the callers of sampled accesses are unknown."""
    touch_paths: AccessPaths | None = None
    """First touches as accesses; None if their callers are unknown."""
    loops: tuple[Loop, ...] = ()
    sources: tuple[SourceWindow, ...] | None = None
    """None if the report was requested without source text."""
    folded: tuple[str, ...] = field(default=())
    """Sentences about data that the report only shows as sums."""
    elsewhere: tuple[OnMachine, ...] = ()
    """The run on the other machines that the reader can choose."""
