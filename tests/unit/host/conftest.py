# SPDX-License-Identifier: Apache-2.0
"""Constructed copies of /sys and /proc of a host with two nodes, in the kernel's format."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

import pytest

MIB = 1 << 20
GIB = 1 << 30
AddNode = Callable[..., None]


@pytest.fixture
def add_node(tmp_path: Path) -> AddNode:
    """Make a node of 8 GiB; `filled` gives meminfo's fields in MiB, the marks are pages."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/zoneinfo").touch()

    def add(node: int, distance: str = "10 20", marks: int = 256, **filled: int) -> None:
        folder = tmp_path / f"sys/devices/system/node/node{node}"
        folder.mkdir(parents=True)
        fields = {"MemTotal": 8192, "MemFree": 8000, "Active(file)": 0, "Inactive(file)": 0}
        fields |= {name.replace("_file", "(file)"): value for name, value in filled.items()}
        lines = [f"Node {node} {name}:  {value * 1024} kB" for name, value in fields.items()]
        (folder / "meminfo").write_text("\n".join(lines) + "\n")
        (folder / "distance").write_text(f"{distance}\n")
        (folder / "cpulist").write_text(f"{node}\n")
        numastat = "numa_hit 100\nnuma_miss 20\nnuma_foreign 3\ninterleave_hit 4\n"
        (folder / "numastat").write_text(numastat + "local_node 90\nother_node 30\n")
        with (tmp_path / "proc/zoneinfo").open("a") as zoneinfo:
            zoneinfo.write(zone(node, marks))

    return add


def zone(node: int, low: int) -> str:
    """A zone with this low watermark, and a zone without pages; the reserve is 1 MiB."""
    managed = 8 * GIB // mmap.PAGESIZE
    reserve = MIB // mmap.PAGESIZE
    return f"""Node {node}, zone   Normal
  pages free     12
        boost    0
        min      {low // 2}
        low      {low}
        high     {low * 2}
        managed  {managed}
        protection: (0, 0, {reserve}, {reserve})
Node {node}, zone  Movable
  pages free     0
        min      32
        low      32
        high     32
        managed  0
        protection: (0, 0, 0, 0)
"""


@pytest.fixture
def two_nodes(tmp_path: Path, add_node: AddNode) -> Path:
    """Node 0 is full of cache, tmpfs and programs; node 1 is free."""
    add_node(0, MemFree=1024, FilePages=5120, Shmem=1024, Dirty=512, Mapped=256, AnonPages=1536,
             Slab=256, SReclaimable=128)  # fmt: skip
    add_node(1, "20 10")
    return tmp_path
