# SPDX-License-Identifier: Apache-2.0
"""A finding, with its evidence and fix, as plain data: the result of a diagnosis."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

from numascape.findings.thresholds import MIN_RELEVANT_GAIN
from numascape.quantities import LEAST_ROUNDED, count_text, percent
from numascape.terminal import printable


class Kind(str, Enum):
    """The kind of a finding; the value is the name that readers see."""

    SERIAL_FIRST_TOUCH = "serial first touch"
    REMOTE_FIRST_TOUCH = "remote first touch"
    SHARED_READ_MOSTLY = "shared, read-mostly"
    SHARED_WRITTEN = "shared, written"
    SHARED_BY_GROUPS = "shared by groups"
    PRODUCER_CONSUMER = "producer and consumer"
    PARTITIONED = "partitioned"
    PAGE_FALSE_SHARING = "page-level false sharing"
    HUGE_PAGE_FALSE_SHARING = "false sharing of 2 MiB pages"
    LINE_FALSE_SHARING = "false sharing of cache lines"
    LINE_TRUE_SHARING = "true sharing of cache lines"
    HOT_PAGES = "hot pages"
    LOAD_IMBALANCE = "load imbalance"
    ONE_NODE_SERVES_ALL = "one node serves all"
    CHANGING_USERS = "pages change users"
    MIGRATED_THREADS = "threads migrated between nodes"
    DISPLACED_PAGES = "pages not where first touched"
    ONE_FIRST_TOUCHER = "first touch by one thread"
    SHARED_STACK = "stack shared with other threads"
    CACHE_RESIDENT = "cache-resident"
    NO_SINGLE_CAUSE = "no single cause"
    NO_PROBLEM = "no NUMA problem"
    TOO_FEW_SAMPLES = "too few samples"


NOTHING_TO_DO = frozenset(
    {
        Kind.PRODUCER_CONSUMER,
        Kind.PARTITIONED,
        Kind.CACHE_RESIDENT,
        Kind.NO_SINGLE_CAUSE,
        Kind.NO_PROBLEM,
        Kind.TOO_FEW_SAMPLES,
    }
)
"""Findings that need no fix of a structure's placement."""

LINES_TRAVEL = frozenset({Kind.LINE_FALSE_SHARING, Kind.LINE_TRUE_SHARING})
"""Findings about cache lines that threads take from each other."""

_LONGEST = 60

Unit = Literal["share", "count", "bytes", "times"]


@dataclass(frozen=True)
class Evidence:
    """A number that supports the finding; shares are 0..1, `times` is a ratio."""

    what: str
    value: float
    unit: Unit


class Figure(str, Enum):
    """The figure of the report that shows it, by its name there."""

    ACCESS_DISTRIBUTION = "Access distribution"
    FIRST_TOUCH = "First touch"
    PHASES = "Phases"
    MACHINE = "Machine and traffic"
    THREADS = "Threads"
    STRUCTURES = "Structures"


@dataclass(frozen=True)
class Place:
    """A source line, and whether it is that of a loop; `share` is its part of the accesses."""

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
        if len(function) > _LONGEST:  # like those of C++ templates
            function = f"{function[: _LONGEST - 1]}…"
        return f"{function} ({where})" if function and where else function or where


SAMPLES_BOUND: Final = "samples do not show how many accesses are answered by a cache"
"""Why a gain that is predicted from samples is a bound."""


@dataclass(frozen=True)
class Gain:
    """A prediction: the saved share of the run's time, its interval, and the limiting resource.

    `machine` is the name of the machine of the prediction.
    """

    share: float
    low: float
    high: float
    limit: str
    machine: str
    limited: str = ""
    """Why almost nothing is saved at the recorded size; empty if the gain matters."""
    at_most: bool = False
    """Whether `share` is a bound: see SAMPLES_BOUND."""

    @property
    def saved(self) -> str:
        """The saved share as text, for the user."""
        share = max(0.0, self.share)
        text = percent(share)
        if LEAST_ROUNDED <= share < MIN_RELEVANT_GAIN:
            # Rounded, it would seem to be as large as the threshold that it does not reach.
            text = f"{math.floor(1000 * share) / 10:.1f} %"
        return f"{'at most ' if self.at_most else ''}{text}"


class Remedy(str, Enum):
    """The placement of pages that the prediction assumes after a fix."""

    NONE = "none"
    USERS = "users"
    """Each page on the node of the thread that works on it most, and initialised by this thread. If
    groups of threads share pages, all threads of a group are on this node."""
    INTERLEAVED = "interleaved"
    """Each page on every node with the same probability."""
    COPIED = "copied"
    """A copy on each node, made after it is filled."""
    DIVIDED = "divided"
    """The work is divided so that each thread uses pages of its own node: an upper bound."""
    EVEN_PARTS = "even parts"
    """Contiguous parts with even shares of the accesses."""
    BALANCED = "balanced"
    """The same pages, with equal work for all threads."""


@dataclass(frozen=True)
class Fix:
    """One thing to do: a sentence, and the placement that it makes.

    A sentence with `Remedy.NONE` supports the others, such as pinning the threads. `gain` is the
    prediction, if a machine with several nodes is known. A `fallback` is advised only if it is
    predicted to save more than the other fixes.
    """

    text: str
    remedy: Remedy = Remedy.NONE
    gain: Gain | None = None
    fallback: bool = False


@dataclass(frozen=True)
class Finding:
    """A diagnosis of one structure, or of the run (with `structure` None and an empty `name`).

    `threads` are the affected threads. `confidence`, from 0 to 1, is how certain the diagnosis is
    with the data of the trace. `fixes` are the things to do, the best one first. `place` is the
    responsible source line. `nearer` is the number of accesses that could become local.
    """

    kind: Kind
    structure: int | None
    name: str
    threads: tuple[int, ...]
    why: str
    fixes: tuple[Fix, ...]
    evidence: tuple[Evidence, ...]
    figure: Figure
    confidence: float
    place: Place | None = None
    nearer: int = 0
    even_parts: tuple[float, ...] = field(default=(), repr=False)
    """For hot pages: the boundaries of contiguous parts with equal accesses, one part per thread.
    They are fractions of the structure, from 0 to 1."""

    def __repr__(self) -> str:
        """One line: the kind, the structure, and what the fix saves."""
        what = f" of {printable(self.name)}" if self.name else ""
        stake = f"{count_text(self.nearer)} accesses could become local"
        if self.gain is not None:
            stake = f"{self.gain.saved} of the run time saved, predicted"
        elif not self.nearer:
            stake = "see its fixes" if self.to_do else "no action needed"
        return f"<{self.kind.value}{what}: {stake}; confidence {percent(self.confidence)}>"

    @property
    def advice(self) -> tuple[str, ...]:
        """The sentences of the fixes."""
        return tuple(fix.text for fix in self.fixes)

    @property
    def remedy(self) -> Remedy:
        """The placement that the advised fix makes: the first one that makes any."""
        return next(
            (fix.remedy for fix in self.fixes if fix.remedy is not Remedy.NONE), Remedy.NONE
        )

    @property
    def gain(self) -> Gain | None:
        """The predicted gain of the advised fix, if it is known."""
        return next((fix.gain for fix in self.fixes if fix.gain is not None), None)

    @property
    def to_do(self) -> bool:
        """Whether it has a fix."""
        return self.kind not in NOTHING_TO_DO
