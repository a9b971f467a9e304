# SPDX-License-Identifier: Apache-2.0
"""The events of a recording of samples, as plain data. Times are in ns of one clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from numascape.machine.description import Machine
from numascape.trace.info import Counts, Host

AccessKind = Literal["read", "write", "unknown"]

UNKNOWN_CALLERS: Final = 0
"""Stands for the address of a call."""


@dataclass(frozen=True)
class Sample:
    """One access. `latency` is in the event's unit, usually cycles, or None if not recorded.

    `calls` are the addresses of the calls that led to it, innermost first; UNKNOWN_CALLERS as the
    last one if its callers are unknown. None: calls were not recorded.
    """

    pid: int
    tid: int
    cpu: int | None
    time_ns: int
    event: str
    address: int
    pc: int
    kind: AccessKind
    latency: int | None = None
    source: str = ""
    physical: int | None = None
    node: int | None = None
    calls: tuple[int, ...] | None = None


@dataclass(frozen=True)
class RangeMapped:
    """A process maps a file, or anonymous memory (then `path` begins with `//` or `[`)."""

    pid: int
    time_ns: int
    start: int
    end: int
    offset: int
    path: str


@dataclass(frozen=True)
class NameGiven:
    """A thread gets a name; `executed`: because it executes another program."""

    pid: int
    tid: int
    time_ns: int
    name: str
    executed: bool


@dataclass(frozen=True)
class Forked:
    """A process or a thread begins."""

    pid: int
    tid: int
    parent_pid: int
    time_ns: int


Event = Sample | RangeMapped | NameGiven | Forked


@dataclass(frozen=True)
class Recording:
    """Events in order of time, with data about the host and the run.

    `command` is the recording command, which contains that of the program. `blocks` has, by node,
    the ranges [first, end) of physical addresses of its memory. `unseen` are sentences for the
    reader, and `moments` and `options` are those of a trace's recorder. With `slice_ns`, phases are
    time slices of this length. `cpu_s` is the CPU time of the run, if it is known.
    """

    events: list[Event]
    command: list[str]
    captured: str
    host: Host
    machine: Machine
    recorder: str
    counts: Counts
    unseen: list[str]
    blocks: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    moments: int = 0
    slice_ns: int | None = None
    cpu_s: float | None = None
    options: dict[str, str] = field(default_factory=dict)
