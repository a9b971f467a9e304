# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis returns: a finding, with its evidence and what to do, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal


class Kind(str, Enum):
    """What a finding says; the value is its name for a reader."""

    SERIAL_FIRST_TOUCH = "serial first touch"
    FOREIGN_FIRST_TOUCH = "touched first by others"
    SHARED_READ = "shared by all, hardly written"
    SHARED_WRITTEN = "shared by all, written"
    SHARED_BY_GROUPS = "shared by groups"
    PARTITIONED = "partitioned"
    PARTS_IN_PAGES = "parts meet inside pages"
    PARTS_IN_HUGE_PAGES = "parts meet inside pages of 2 MiB"
    HOT_PAGES = "hot pages"
    UNEVEN_WORK = "uneven work"
    PILED_NODE = "pages piled on one node"
    CHANGING_OWNERS = "changing owners"
    MIGRATED_THREADS = "threads changed nodes"
    DISPLACED_PAGES = "pages not where first touched"
    TOUCHED_BY_ONE = "touched by one thread"
    FOREIGN_STACK = "stack used by others"
    CACHE_RESIDENT = "stays in caches"
    NO_PROBLEM = "NUMA is not the problem"


NOTHING_TO_DO = frozenset({Kind.PARTITIONED, Kind.CACHE_RESIDENT, Kind.NO_PROBLEM})
"""Findings that say what is well as it is."""

_LONGEST = 60

Unit = Literal["share", "count", "bytes", "times"]


@dataclass(frozen=True)
class Evidence:
    """A number that the finding rests on; shares are 0..1, `times` is a ratio."""

    what: str
    value: float
    unit: Unit


class Figure(str, Enum):
    """The figure of the report that shows it, by the name it has there."""

    ACCESS_DISTRIBUTION = "Access distribution"
    FIRST_TOUCH = "First touch"
    PHASES = "Phases"
    MACHINE = "Machine and traffic"
    THREADS = "Threads"
    STRUCTURES = "Structures"


@dataclass(frozen=True)
class Place:
    """A source line; `loop` says whether it is that of a loop. `share`: of what happens there."""

    function: str
    file: str
    line: int
    loop: bool = False
    share: float = 1.0

    def __str__(self) -> str:
        name = self.file.rpartition("/")[2]
        where = f"{name}:{self.line}" if name and self.line else ""
        if self.loop:
            return f"the loop at {where}"
        function = self.function
        if len(function) > _LONGEST:  # as C++ templates' are
            function = f"{function[: _LONGEST - 1]}…"
        return f"{function} ({where})" if function and where else function or where


@dataclass(frozen=True)
class Gain:
    """Predicted: share of the run's time that is saved, with its interval, and the model's limit.

    `machine` is the name of the machine that it was predicted for.
    """

    share: float
    low: float
    high: float
    limit: str
    machine: str


class Remedy(str, Enum):
    """How pages would lie after the advice was followed, for the prediction."""

    NONE = "none"
    USERS = "users"
    """Each page on the node of the thread that works on it most."""
    INTERLEAVED = "interleaved"
    EVEN_PARTS = "even parts"
    """Contiguous parts with even shares of the accesses."""
    BALANCED = "balanced"
    """The same pages, the work shared out evenly."""


@dataclass(frozen=True)
class Finding:
    """A diagnosis of one structure, or of the run (`structure` is then None, `name` empty).

    `threads` are those concerned. `confidence` is 0..1: how sure the diagnosis is, given what a
    trace can show. `place` is the source line responsible. `nearer` is the number of accesses that
    could come closer to their threads; `gain` is what the model predicts, where a machine with
    several nodes is known. `also` are other places in the source that the advice names.
    """

    kind: Kind
    structure: int | None
    name: str
    threads: tuple[int, ...]
    why: str
    advice: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    figure: Figure
    confidence: float
    place: Place | None = None
    nearer: int = 0
    remedy: Remedy = Remedy.NONE
    gain: Gain | None = None
    even_parts: tuple[float, ...] = field(default=(), repr=False)
    """Of hot pages: the fence posts of contiguous parts, one per thread, with even shares of the
    accesses, as fractions of the structure from 0 to 1."""

    @property
    def to_do(self) -> bool:
        """Whether there is something to do about it."""
        return self.kind not in NOTHING_TO_DO
