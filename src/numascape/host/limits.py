# SPDX-License-Identifier: Apache-2.0
"""Reads the limits of this process' memory: control groups (versions 1 and 2) and cpusets.

All functions take a root path. Sources: Documentation/admin-guide/cgroup-v2.rst and
cgroup-v1/memory.rst of the Linux kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numascape.machine.kernel_lists import parse_cpu_list

# Version 1 writes "no limit" as the largest number of whole pages.
_NO_LIMIT: Final = 1 << 60


@dataclass(frozen=True)
class GroupLimit:
    """The limit of the control group with the fewest bytes left, of all groups of this process.

    `cache` is the group's own page cache, clean or dirty; it is freed before the limit is hit.
    """

    group: str
    limit: int
    used: int
    cache: int

    @property
    def left(self) -> int:
        """Bytes that can still be allocated if the group's cache is freed."""
        return max(0, self.limit - self.used + self.cache)


@dataclass(frozen=True)
class Limits:
    """`nodes` is None if the kernel does not report which nodes may be used."""

    group: GroupLimit | None
    nodes: tuple[int, ...] | None
    cpus: tuple[int, ...] | None


def read_limits(root: Path) -> Limits:
    """The limits of the process of `root`/proc/self."""
    status = _fields(root / "proc/self/status", ":")
    return Limits(
        _group_limit(root),
        _list(status.get("Mems_allowed_list")),
        _list(status.get("Cpus_allowed_list")),
    )


def _list(text: str | None) -> tuple[int, ...] | None:
    try:
        return tuple(parse_cpu_list(text)) if text is not None else None
    except ValueError:
        return None


def _group_limit(root: Path) -> GroupLimit | None:
    found = [
        limit
        for folder, version in _memory_groups(root)
        for limit in [_limit_of(root, folder, version)]
        if limit is not None
    ]
    return min(found, key=lambda limit: limit.left, default=None)


def _memory_groups(root: Path) -> list[tuple[Path, int]]:
    """Folder and version of this process' memory groups and of all groups above them."""
    groups: list[tuple[Path, int]] = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for place in ("sys/fs/cgroup", "sys/fs/cgroup/unified"):
                if (root / place / "cgroup.controllers").exists():
                    groups += [(folder, 2) for folder in _upwards(root / place, path)]
        elif "memory" in controllers.split(","):
            groups += [(folder, 1) for folder in _upwards(root / "sys/fs/cgroup/memory", path)]
    return groups


def _upwards(mount: Path, path: str) -> list[Path]:
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
    # In a container, the path may be that of the host, while the mount is the container's group.
    return [mount.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]


def _limit_of(root: Path, folder: Path, version: int) -> GroupLimit | None:
    names = ("memory.max", "memory.current") if version == 2 else (
        "memory.limit_in_bytes", "memory.usage_in_bytes")  # fmt: skip
    limit, used = (_text(folder / name).strip() for name in names)
    if not limit.isdecimal() or int(limit) >= _NO_LIMIT:
        return None
    stat = _fields(folder / "memory.stat", " ")
    keys = ("active_file", "inactive_file")
    if version == 1:
        keys = ("total_active_file", "total_inactive_file")
    cache = sum(int(value) for key in keys if (value := stat.get(key, "")).isdecimal())
    name = f"/{folder.relative_to(root)}"
    return GroupLimit(name, int(limit), int(used) if used.isdecimal() else 0, cache)


def _fields(path: Path, separator: str) -> dict[str, str]:
    pairs = (line.partition(separator) for line in _text(path).splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
