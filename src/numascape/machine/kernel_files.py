# SPDX-License-Identifier: Apache-2.0
"""Reads nodes, CPUs and memory from the kernel's files; functions take a root path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal

from numascape.machine.kernel_lists import parse_cpu_list, parse_mask

_NODES = "sys/devices/system/node"
_HUGE_PAGES = "sys/kernel/mm/transparent_hugepage"

HugePages = Literal["always", "madvise", "never", ""]
_MODES: Final[dict[str | None, HugePages]] = {
    "always": "always",
    "madvise": "madvise",
    "never": "never",
}


def node_cpus(root: Path) -> dict[int, tuple[int, ...]]:
    """The CPUs of each online node (maybe none); no nodes with a kernel without NUMA."""
    found = {}
    for folder in (root / _NODES).glob("node[0-9]*"):
        number = folder.name.removeprefix("node")
        cpus = _cpus_of(folder)
        if number.isdecimal() and cpus is not None:
            found[int(number)] = cpus
    return dict(sorted(found.items()))


def _cpus_of(folder: Path) -> tuple[int, ...] | None:
    # Kernels before 2.6.29 have only the mask.
    return _parsed(folder / "cpulist", parse_cpu_list) or _parsed(folder / "cpumap", parse_mask)


def _parsed(path: Path, parse: Callable[[str], Sequence[int]]) -> tuple[int, ...] | None:
    try:
        return tuple(parse(path.read_text()))
    except (OSError, ValueError):
        return None


def memory_bytes(meminfo: Path) -> int:
    """MemTotal of a meminfo file, in bytes; 0 if it cannot be read."""
    try:
        for line in meminfo.read_text().splitlines():
            name, _, rest = line.partition(":")
            if name.endswith("MemTotal"):
                return int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def chosen_word(path: Path) -> str | None:
    """The word in brackets: `always [madvise] never` is madvise; None if there is none."""
    try:
        words = path.read_text(errors="replace").split()
    except OSError:
        return None
    return next((word.strip("[]") for word in words if word.startswith("[")), None)


def huge_page_mode(root: Path) -> HugePages:
    """When memory gets pages of 2 MiB: `always`, `madvise`, `never`; empty if unknown.

    Since Linux 6.8, each size of pages has a setting, which may be to inherit the general one.
    """
    general = chosen_word(root / _HUGE_PAGES / "enabled")
    own = chosen_word(root / _HUGE_PAGES / "hugepages-2048kB/enabled")
    return _MODES.get(general if own in (None, "inherit") else own, "")


def processor(root: Path) -> str | None:
    """The processor's name, from the first line of /proc/cpuinfo that has one."""
    try:
        for line in (root / "proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return " ".join(value.split())[:100]
    except OSError:
        pass
    return None
