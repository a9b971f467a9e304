# SPDX-License-Identifier: Apache-2.0
"""Finds conditions on this host that disturb measurements; functions take a root path."""

from __future__ import annotations

import time
from pathlib import Path

_THP = "sys/kernel/mm/transparent_hugepage/enabled"
_LOAD_SECONDS = 0.2
# At or above this share of all CPUs' time, they are busy; the kernel's own work is below it.
_BUSY = 0.05


def conditions(root: Path, load_seconds: float = _LOAD_SECONDS) -> list[str]:
    """A sentence for each condition that makes values worse or less certain."""
    found = [_clock(root), _huge_pages(root), _balancing(root), _virtual(root)]
    found.append(_load(root, load_seconds))
    return [sentence for sentence in found if sentence]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _clock(root: Path) -> str:
    folder = root / "sys/devices/system/cpu/cpu0/cpufreq"
    governor = _text(folder / "scaling_governor")
    most, limit = _text(folder / "cpuinfo_max_freq"), _text(folder / "scaling_max_freq")
    if governor and governor != "performance":
        return f"the clock is scaled by the governor {governor!r}, not 'performance'"
    if most.isdecimal() and limit.isdecimal() and int(limit) < int(most):
        return f"the clock is limited to {int(limit) // 1000} of {int(most) // 1000} MHz"
    return ""


def _huge_pages(root: Path) -> str:
    if "[never]" in _text(root / _THP):
        return "transparent huge pages are off: latencies include the translation of addresses"
    return ""


def _balancing(root: Path) -> str:
    if _text(root / "proc/sys/kernel/numa_balancing") in {"1", "3"}:
        return "NUMA balancing is on: the kernel may move threads' pages"
    return ""


def _virtual(root: Path) -> str:
    for line in _text(root / "proc/cpuinfo").splitlines():
        if line.startswith("flags"):
            if "hypervisor" in line.split():
                return "this is a virtual machine: others may use the same memory and caches"
            break
    return ""


def _load(root: Path, seconds: float) -> str:
    before = _cpu_times(root)
    time.sleep(seconds)
    after = _cpu_times(root)
    idle, total = after[0] - before[0], after[1] - before[1]
    if total > 0 and 1 - idle / total > _BUSY:
        return f"other programs use {1 - idle / total:.0%} of the CPUs"
    return ""


def _cpu_times(root: Path) -> tuple[int, int]:
    """The idle and the total ticks of all CPUs since boot (proc_stat(5)); zeros if unknown."""
    words = _text(root / "proc/stat").splitlines()[:1]
    try:
        ticks = [int(word) for word in words[0].split()[1:9]]
        return ticks[3] + ticks[4], sum(ticks)
    except (IndexError, ValueError):
        return 0, 0
