# SPDX-License-Identifier: Apache-2.0
"""Compiles a plan for one run on this host into the file that the placer reads.

src/native/placer/plan_format.h describes the format.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numascape.errors import NumascapeError
from numascape.host.state import read_state
from numascape.machine.kernel_files import node_cpus
from numascape.machine.kernel_lists import format_cpu_list
from numascape.plan.number_lists import parse_numbers
from numascape.plan.plan import Plan, StructureRule, ThreadRule

MAGIC: Final = b"NUMAPLAN"
VERSION: Final = 1
NOWHERE: Final = 0xFFFFFFFF
POLICIES: Final = (
    "first-touch",
    "interleave",
    "weighted-interleave",
    "bind",
    "preferred",
    "parts",
)
MAX_THREADS: Final = 1 << 15
_HEADER: Final = struct.Struct("<8s6I" + 12 * "2I")
_PLACES_BLOCKS, _PLACES_VARIABLES = 1, 2


@dataclass(frozen=True)
class UsableResources:
    """This process' resources: all its CPUs, the CPUs of each node, and the nodes with memory."""

    cpus: tuple[int, ...]
    node_cpus: dict[int, tuple[int, ...]]
    memory_nodes: tuple[int, ...]

    def cpus_beside(self, cpu: int) -> tuple[int, ...]:
        """The usable CPUs of the node of `cpu`."""
        for cpus in self.node_cpus.values():
            if cpu in cpus:
                return tuple(sorted(set(cpus) & set(self.cpus)))
        return (cpu,)


def usable_resources() -> UsableResources:
    """The CPUs and nodes that this process may use."""
    state = read_state(Path("/"))
    return UsableResources(
        tuple(sorted(os.sched_getaffinity(0))),
        node_cpus(Path("/")),
        tuple(number for number in state.numbers if state.allowed(number)),
    )


@dataclass(frozen=True)
class ThreadCpus:
    """The CPUs of a thread, and the rule that gives them (the lowest rule counts)."""

    rule: int
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class CompiledPlan:
    """The placer's file, and the CPUs of its numbered masks."""

    content: bytes
    masks: tuple[tuple[int, ...], ...]


def check_host(plan: Plan, host: UsableResources, name: str) -> None:
    """Raise NumascapeError if the plan has CPUs or nodes that cannot be used here."""
    for number, thread in enumerate(plan.threads, start=1):
        absent = sorted(set(thread.cpus) - set(host.cpus))
        if absent:
            raise NumascapeError(
                f"{name}: threads rule {number} needs CPU {format_cpu_list(absent)[:60]}; this "
                f"process may use {format_cpu_list(host.cpus)}"
            )
    for number, rule in enumerate(plan.structures, start=1):
        lacking = sorted(set(rule.nodes) - set(host.memory_nodes))
        if lacking:
            raise NumascapeError(
                f"{name}: structures rule {number} ({rule.name[:60]}) needs memory of node "
                f"{format_cpu_list(lacking)[:60]}; this process may use that of "
                f"{format_cpu_list(host.memory_nodes)}"
            )


def thread_count(
    plan: Plan, given: int | None, environment: dict[str, str], host: UsableResources
) -> int:
    """The number of threads of this run; 0: as many as in the plan.

    It is `given` by the user, or by OpenMP's variable, or OpenMP's default if the plan is for
    OpenMP threads.
    """
    if given is not None:
        return given
    first = environment.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if re.fullmatch("[0-9]{1,6}", first) and int(first) > 0:
        return int(first)
    return len(host.cpus) if any(rule.openmp for rule in plan.threads) else 0


def places(plan: Plan, field: str, threads: int, host: UsableResources) -> list[ThreadCpus | None]:
    """The place of each thread by its number; `field` is `order` or `openmp`."""
    by_recorded: dict[int, ThreadCpus] = {}
    for index, rule in enumerate(plan.threads):
        for k, number in enumerate(parse_numbers(getattr(rule, field))):
            by_recorded.setdefault(number, ThreadCpus(index, _cpus(rule, k)))
    recorded = plan.recorded_threads
    if not (threads and recorded and threads != recorded):
        count = min(max(by_recorded, default=-1) + 1, MAX_THREADS)
        return [by_recorded.get(number) for number in range(count)]
    found: list[ThreadCpus | None] = []
    for number in range(min(threads, MAX_THREADS)):
        place = by_recorded.get(number * recorded // threads)
        if place is not None and threads > recorded and len(place.cpus) == 1:
            # Several threads have this place: give them the whole node instead of one CPU.
            place = ThreadCpus(place.rule, host.cpus_beside(place.cpus[0]))
        found.append(place)
    return found


def _cpus(rule: ThreadRule, k: int) -> tuple[int, ...]:
    return tuple(sorted(rule.cpus)) if rule.together else (rule.cpus[k % len(rule.cpus)],)


def compile_plan(
    plan: Plan, host: UsableResources, threads: int, socket: Path, folder: Path, verifies: bool
) -> CompiledPlan:
    """Compile the plan for `threads` (of thread_count), with the paths `socket` and `folder`."""
    masks = _Masks(host.cpus)
    orders, openmp = (_pack_places(places(plan, f, threads, host), masks)
                      for f in ("order", "openmp"))  # fmt: skip
    names = [(index, rule) for index, rule in enumerate(plan.threads) if rule.name]
    firsts = [masks.add_all(rule) for _, rule in names]
    words = max(max(cpus, default=0) for cpus in masks.found) // 64 + 1
    parts = _Parts(_HEADER.size)
    program = Path(plan.program).name
    texts = [parts.text(os.fsencode(text)) for text in (program, str(socket), str(folder))]
    spans = [
        *texts,
        parts.add(b"".join(_mask(cpus, words) for cpus in masks.found), len(masks.found)),
        parts.add(b"".join(orders), len(orders)),
        parts.add(b"".join(openmp), len(openmp)),
        _add_names(parts, names, firsts),
        _add_stacks(parts, plan.structures),
        *_add_rules(parts, plan.structures),
    ]
    kinds = {rule.kind for rule in plan.structures if rule.policy != "first-touch"}
    about = _PLACES_BLOCKS if kinds & {"", "heap", "mapping"} else 0
    about |= _PLACES_VARIABLES if kinds & {"", "global"} else 0
    nodes = max((*host.node_cpus, *host.memory_nodes), default=0) + 1
    numbers = [number for span in spans for number in span]
    header = _HEADER.pack(MAGIC, VERSION, parts.end, verifies, about, nodes, words, *numbers)
    return CompiledPlan(header + bytes(parts.content), tuple(masks.found))


class _Masks:
    """Numbered sets of CPUs; number 0 is the set of the whole run."""

    def __init__(self, given: tuple[int, ...]) -> None:
        self.found = [given]
        self._numbers = {given: 0}

    def number(self, cpus: tuple[int, ...]) -> int:
        """The number of a set; equal sets have the same number."""
        if cpus not in self._numbers:
            self._numbers[cpus] = len(self.found)
            self.found.append(cpus)
        return self._numbers[cpus]

    def add_all(self, rule: ThreadRule) -> tuple[int, int]:
        """Add consecutive numbers for the threads of a name; return the first and their count."""
        sets = [_cpus(rule, k) for k in range(1 if rule.together else len(rule.cpus))]
        first = len(self.found)
        self.found += sets
        return first, len(sets)


class _Parts:
    """The parts after the header, each at a multiple of 8 bytes."""

    def __init__(self, start: int) -> None:
        self._start = start
        self.content = bytearray()
        self._align()

    @property
    def end(self) -> int:
        return self._start + len(self.content)

    def add(self, part: bytes, count: int) -> tuple[int, int]:
        offset = self.end
        self.content += part
        self._align()
        return offset, count

    def text(self, text: bytes) -> tuple[int, int]:
        return self.add(text + b"\0", len(text) + 1)

    def _align(self) -> None:
        self.content += bytes(-self.end % 8)


def _mask(cpus: Sequence[int], words: int) -> bytes:
    return sum(1 << cpu for cpu in cpus).to_bytes(words * 8, "little")


def _pack_places(found: Sequence[ThreadCpus | None], masks: _Masks) -> list[bytes]:
    return [
        struct.pack("<2I", place.rule, masks.number(place.cpus))
        if place is not None
        else struct.pack("<2I", NOWHERE, 0)
        for place in found
    ]


def _add_names(
    parts: _Parts, names: list[tuple[int, ThreadRule]], firsts: list[tuple[int, int]]
) -> tuple[int, int]:
    rows = [
        struct.pack("<5I", *parts.text(rule.name.encode()), index, *first)
        for (index, rule), first in zip(names, firsts, strict=True)
    ]
    return parts.add(b"".join(rows), len(rows))


def _add_stacks(parts: _Parts, rules: Sequence[StructureRule]) -> tuple[int, int]:
    """Add the stacks; `Stack#3` is that of thread 3."""
    rows = [
        struct.pack("<2I", int(match[1]), index)
        for index, rule in enumerate(rules)
        for match in (re.fullmatch(r"Stack#([1-9][0-9]{0,6})", rule.name),)
        if match and rule.kind in ("", "stack") and rule.policy != "first-touch"
    ]
    return parts.add(b"".join(rows), len(rows))


def _add_rules(parts: _Parts, rules: Sequence[StructureRule]) -> list[tuple[int, int]]:
    """Add the rules, then all their nodes, weights and boundaries."""
    nodes: list[int] = []
    weights: list[int] = []
    boundaries: list[float] = []
    rows = []
    for rule in rules:
        firsts = (len(nodes), len(weights), len(boundaries))
        rows.append(struct.pack("<5I", POLICIES.index(rule.policy), len(rule.nodes), *firsts))
        nodes += rule.nodes
        weights += rule.weights
        boundaries += rule.parts
    return [
        parts.add(b"".join(rows), len(rows)),
        parts.add(struct.pack(f"<{len(nodes)}I", *nodes), len(nodes)),
        parts.add(struct.pack(f"<{len(weights)}I", *weights), len(weights)),
        parts.add(struct.pack(f"<{len(boundaries)}d", *boundaries), len(boundaries)),
    ]
