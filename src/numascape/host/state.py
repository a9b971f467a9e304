# SPDX-License-Identifier: Apache-2.0
"""The state of a host's memory at one moment: nodes, kernel settings, limits, tmpfs."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.host.limits import Limits, read_limits
from numascape.host.node_memory import NodeMemory, read_nodes
from numascape.machine.kernel_files import chosen_word


@dataclass(frozen=True)
class Settings:
    """Kernel settings that affect the placement of memory; None if unknown."""

    numa_balancing: int | None
    zone_reclaim_mode: int | None
    huge_pages: str | None
    huge_pages_defrag: str | None
    swappiness: int | None
    demotion: bool | None


@dataclass(frozen=True)
class TemporaryFiles:
    """A mounted tmpfs, and how many bytes are in it."""

    path: str
    used: int


@dataclass(frozen=True)
class HostState:
    """The whole state; `time_s` is the monotonic clock in seconds, for rates."""

    time_s: float
    nodes: tuple[NodeMemory, ...]
    settings: Settings
    limits: Limits
    temporary_files: tuple[TemporaryFiles, ...]
    notes: tuple[str, ...]

    def node(self, number: int) -> NodeMemory:
        """The node of this number, which must exist."""
        return next(node for node in self.nodes if node.node == number)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the nodes that have memory."""
        return [node.node for node in self.nodes]

    def allowed(self, number: int) -> bool:
        """Whether this process may use memory of the node."""
        return self.limits.nodes is None or number in self.limits.nodes


def read_state(root: Path) -> HostState:
    """Read the files below `root`; raises NumascapeError if they have no information on memory."""
    nodes = tuple(read_nodes(root))
    if not nodes:
        raise NumascapeError(
            f"{root / 'proc/meminfo'} has no information about memory: mount /proc and /sys here"
        )
    notes = []
    if not (root / "sys/devices/system/node/node0").exists() and len(nodes) == 1:
        notes.append("there is no /sys/devices/system/node here: all memory is shown as one node")
    if any(node.watermarks is None for node in nodes):
        notes.append("/proc/zoneinfo has no watermarks: all free memory counts as usable")
    return HostState(
        time.monotonic(),
        nodes,
        _settings(root),
        read_limits(root),
        _temporary_files(root),
        tuple(notes),
    )


def _settings(root: Path) -> Settings:
    thp = root / "sys/kernel/mm/transparent_hugepage"
    demotion = _text(root / "sys/kernel/mm/numa/demotion_enabled")
    return Settings(
        _number(root / "proc/sys/kernel/numa_balancing"),
        _number(root / "proc/sys/vm/zone_reclaim_mode"),
        chosen_word(thp / "enabled"),
        chosen_word(thp / "defrag"),
        _number(root / "proc/sys/vm/swappiness"),
        {"true": True, "false": False}.get(demotion or ""),
    )


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.isdecimal() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def _temporary_files(root: Path) -> tuple[TemporaryFiles, ...]:
    """The mounted tmpfs that are not empty, largest first."""
    found = {}
    for line in (_text(root / "proc/self/mounts") or "").splitlines():
        words = line.split()
        if len(words) > 2 and words[2] in {"tmpfs", "ramfs"}:
            path = words[1].encode().decode("unicode_escape", errors="replace")
            try:
                usage = os.statvfs(root / path.lstrip("/"))
            except OSError:
                continue
            found[path] = (usage.f_blocks - usage.f_bfree) * usage.f_frsize
    largest = sorted(found.items(), key=lambda entry: -entry[1])
    return tuple(TemporaryFiles(path, used) for path, used in largest if used)
