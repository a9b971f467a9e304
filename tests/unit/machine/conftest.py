# SPDX-License-Identifier: Apache-2.0
"""Constructed copies of /sys and /proc, in the kernel's format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from numascape.machine.kernel_lists import format_cpu_list, format_mask


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def add_node(tmp_path: Path) -> Callable[..., None]:
    """Add a node to the machine below tmp_path, with its CPUs, memory, and SLIT distances."""

    def added(number: int, cpus: list[int], memory_kb: int, distances: str = "") -> None:
        folder = tmp_path / f"sys/devices/system/node/node{number}"
        write(folder / "cpulist", f"{format_cpu_list(cpus)}\n")
        write(folder / "cpumap", f"{format_mask(cpus).replace('0x', '')}\n")
        write(folder / "distance", f"{distances}\n")
        prefix = f"Node {number}"
        write(folder / "meminfo", f"{prefix} MemTotal:  {memory_kb} kB\n{prefix} MemFree: 1 kB\n")
        for cpu in cpus:
            core = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
            write(core / "physical_package_id", f"{number}\n")
            write(core / "core_id", f"{cpu}\n")
            write(core / "thread_siblings", f"{format_mask([cpu]).replace('0x', '')}\n")
            write(core / "core_siblings", f"{format_mask(cpus).replace('0x', '')}\n")

    write(tmp_path / "proc/cpuinfo", "processor\t: 0\nmodel name\t: Opteron 6174: 12 cores\n")
    write(tmp_path / "proc/meminfo", "MemTotal:       4096 kB\nMemFree:  1 kB\n")
    return added
