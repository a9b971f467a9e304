# SPDX-License-Identifier: Apache-2.0
"""Verifies a plan: adds up the reports of the placer, planned against actual.

src/native/placer/plan_format.h describes the reports.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numascape.placement.compiling import MAGIC, NOWHERE, VERSION
from numascape.plan.plan import Plan

_HEADER: Final = struct.Struct("<8s9I228s")
_THREAD: Final = struct.Struct("<6I")
_RULE: Final = struct.Struct("<5Q")
_MAX_THREADS: Final = 8192
_ENDINGS: Final = ("not seen", "exit", "signal")


@dataclass(frozen=True)
class StructureResult:
    """The result of a structure's rule: its instances, and its pages as planned or not.

    Pages that were never touched do not count. `nodes` is the number of pages by node.
    """

    name: str
    policy: str
    planned: str
    instances: int
    bytes: int
    right: int
    elsewhere: int
    untouched: int
    nodes: dict[int, int]

    @property
    def share(self) -> float | None:
        """The share of the touched pages that were on planned nodes; None if none was touched."""
        touched = self.right + self.elsewhere
        return self.right / touched if touched else None


@dataclass(frozen=True)
class ThreadResult:
    """A thread of a process: its planned CPUs (empty: none), and its actual ones at its end."""

    process: int
    order: int
    openmp: int | None
    planned: tuple[int, ...]
    is_right: bool
    last_cpu: int | None


@dataclass(frozen=True)
class ProcessResult:
    """A process under the plan, how it ended, and what hindered the plan in it.

    These are call stacks without a name, system calls that the kernel refused, and blocks that were
    not placed because the process had too many mappings.
    """

    process: int
    program: str
    ending: str
    unanswered: int
    refused: int
    crowded: int


@dataclass(frozen=True)
class Verification:
    """The whole verification. Structures are in the order of the plan."""

    structures: tuple[StructureResult, ...]
    threads: tuple[ThreadResult, ...]
    processes: tuple[ProcessResult, ...]

    @property
    def pages(self) -> tuple[int, int]:
        """The number of pages as planned, and elsewhere."""
        return sum(s.right for s in self.structures), sum(s.elsewhere for s in self.structures)


def read_reports(folder: Path, plan: Plan, masks: Sequence[tuple[int, ...]]) -> Verification:
    """Read what the processes left in `folder`; damaged reports do not count."""
    totals: list[Counter[str]] = [Counter() for _ in plan.structures]
    nodes: list[Counter[int]] = [Counter() for _ in plan.structures]
    threads: list[ThreadResult] = []
    processes: list[ProcessResult] = []
    for path in sorted(folder.glob("process-*")):
        content = path.read_bytes()
        if len(content) < _HEADER.size:
            continue
        magic, version, process, ending, rules, columns, started, *hindered, program = (
            _HEADER.unpack_from(content)
        )
        row = _RULE.size + 8 * columns
        start = _HEADER.size + _MAX_THREADS * _THREAD.size
        if (magic, version) != (MAGIC, VERSION) or len(content) != start + rules * row:
            continue
        name = program.split(b"\0")[0].decode(errors="replace")
        how = _ENDINGS[min(ending, 2)]
        processes.append(ProcessResult(process, name, how, *hindered))
        threads += _threads(content, process, started, masks)
        for index in range(min(rules, len(totals))):
            at = start + index * row
            values = _RULE.unpack_from(content, at)
            names = ("instances", "bytes", "right", "elsewhere", "untouched")
            totals[index].update(dict(zip(names, values, strict=True)))
            counts = struct.unpack_from(f"<{columns}Q", content, at + _RULE.size)
            nodes[index].update({n: pages for n, pages in enumerate(counts) if pages})
    structures = tuple(
        StructureResult(
            rule.name,
            rule.policy,
            _planned(rule.policy, rule.nodes, rule.weights),
            total["instances"],
            total["bytes"],
            total["right"],
            total["elsewhere"],
            total["untouched"],
            dict(sorted(by_node.items())),
        )
        for rule, total, by_node in zip(plan.structures, totals, nodes, strict=True)
    )
    return Verification(structures, tuple(threads), tuple(processes))


def _threads(
    content: bytes, process: int, started: int, masks: Sequence[tuple[int, ...]]
) -> list[ThreadResult]:
    found = []
    for index in range(min(started, _MAX_THREADS)):
        identifier, order, openmp, mask, is_right, cpu = _THREAD.unpack_from(
            content, _HEADER.size + index * _THREAD.size
        )
        if identifier:
            found.append(
                ThreadResult(
                    process,
                    order,
                    None if openmp == NOWHERE else openmp,
                    masks[mask] if mask < len(masks) else (),
                    bool(is_right),
                    None if cpu == NOWHERE else cpu,
                )
            )
    return sorted(found, key=lambda thread: thread.order)


def _planned(policy: str, nodes: Sequence[int], weights: Sequence[int]) -> str:
    """A short text for a rule's nodes."""
    if policy == "weighted-interleave":
        return ", ".join(f"{node} x {w}" for node, w in zip(nodes, weights, strict=True))
    if policy == "parts":
        return f"{len(nodes)} parts on {', '.join(map(str, sorted(set(nodes))))}"
    return ", ".join(map(str, nodes))
