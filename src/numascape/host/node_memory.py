# SPDX-License-Identifier: Apache-2.0
"""Reads from the kernel's files what fills the memory of each node; functions take a root path.

Sources: Documentation/admin-guide/numastat.rst, drivers/base/node.c (meminfo), mm/vmstat.c
(zoneinfo) of the Linux kernel.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NODES: Final = "sys/devices/system/node"
# zoneinfo counts pages. Files copied from another host are assumed to have this host's page size.
KERNEL_PAGE_BYTES: Final = mmap.PAGESIZE


@dataclass(frozen=True)
class Watermarks:
    """The watermarks of a node's free memory in bytes, summed over its zones.

    Below `low`, an allocation goes to another node if it may. If it may not, it waits below
    `minimum` until pages are freed. `reserved` is kept for allocations that need low addresses
    (lowmem_reserve).
    """

    minimum: int
    low: int
    high: int
    reserved: int


@dataclass(frozen=True)
class Counters:
    """Pages allocated since the system started, with the names of numastat."""

    hit: int
    miss: int
    foreign: int
    interleave_hit: int
    local_node: int
    other_node: int


@dataclass(frozen=True)
class NodeMemory:
    """A node's memory in bytes; unknown values are 0, and unknown groups of values None.

    `cache` is page cache of files on disks. Its part `dirty` must be written before it can be
    freed, and its part `mapped` is in use by programs. `clean`, the rest, can be freed at once.
    `shared` is tmpfs and shared memory: it looks like cache, but is only freed when it is deleted.
    `huge_free` is the unused part of the huge pages.
    """

    node: int
    total: int
    free: int
    cache: int
    dirty: int
    mapped: int
    shared: int
    anonymous: int
    slab: int
    slab_reclaimable: int
    huge: int
    huge_free: int
    unevictable: int
    watermarks: Watermarks | None
    counters: Counters | None
    # The fallback order: nodes by distance, starting with this one.
    fallback: tuple[int, ...]

    @property
    def clean(self) -> int:
        """Page cache that can be freed at once: neither dirty nor mapped."""
        return max(0, self.cache - self.dirty - self.mapped)

    @property
    def usable(self) -> int:
        """Free bytes that programs get before the kernel uses other nodes."""
        if self.watermarks is None:
            return self.free
        return max(0, self.free - self.watermarks.low - self.watermarks.reserved)

    @property
    def reclaimable(self) -> int:
        """Bytes that are freed when memory is needed: clean page cache and the kernel's caches."""
        return self.clean + self.slab_reclaimable

    @property
    def other(self) -> int:
        """Other used bytes: of the kernel, page tables, drivers."""
        known = self.free + self.cache + self.shared + self.anonymous + self.slab + self.huge
        return max(0, self.total - known)


def read_nodes(root: Path) -> list[NodeMemory]:
    """The nodes that have memory, ascending; one from /proc if the kernel shows no nodes."""
    folders = {
        int(folder.name.removeprefix("node")): folder
        for folder in (root / _NODES).glob("node[0-9]*")
        if folder.name.removeprefix("node").isdecimal()
    }
    marks = _watermarks(root / "proc/zoneinfo")
    distances = {node: _distances(folder) for node, folder in folders.items()}
    with_cpus = {node for node, folder in folders.items() if _text(folder / "cpulist").strip()}
    nodes = []
    for node, folder in sorted(folders.items()):
        order = _fallback(node, sorted(folders), distances[node], with_cpus)
        values = meminfo(folder / "meminfo")
        if values.get("MemTotal"):
            counters = _counters(folder / "numastat")
            values |= _huge_pages(folder / "hugepages")
            nodes.append(_node(node, values, marks.get(node), counters, order))
    if not nodes:
        values = meminfo(root / "proc/meminfo")
        if values.get("MemTotal"):
            nodes.append(_node(0, _like_a_nodes(values), marks.get(0), None, (0,)))
    return nodes


def _like_a_nodes(values: dict[str, int]) -> dict[str, int]:
    """Rename the fields of the system's meminfo to those of a node's."""
    cached = values.get("Cached", 0) + values.get("Buffers", 0)
    size = values.get("Hugepagesize", 0)
    return {
        **values,
        "FilePages": cached + values.get("SwapCached", 0),
        "nr_hugepages": values.get("HugePages_Total", 0) * size,
        "free_hugepages": values.get("HugePages_Free", 0) * size,
    }


def _huge_pages(folder: Path) -> dict[str, int]:
    """Bytes of a node's huge pages of all sizes: hugepages-2048kB/nr_hugepages and so on."""
    found = {"nr_hugepages": 0, "free_hugepages": 0}
    for sized in folder.glob("hugepages-*kB"):
        size = sized.name.removeprefix("hugepages-").removesuffix("kB")
        for name in found:
            count = _text(sized / name).strip()
            if size.isdecimal() and count.isdecimal():
                found[name] += int(count) * int(size) * 1024
    return found


def _node(
    node: int,
    values: dict[str, int],
    marks: Watermarks | None,
    counters: Counters | None,
    fallback: tuple[int, ...],
) -> NodeMemory:
    shared = values.get("Shmem", 0)
    cache = values.get("Active(file)", 0) + values.get("Inactive(file)", 0)
    file_pages = max(0, values.get("FilePages", 0) - shared - values.get("SwapCached", 0))
    return NodeMemory(
        node=node,
        total=values["MemTotal"],
        free=values.get("MemFree", 0),
        # FilePages includes locked pages; without it, use the lists of pages.
        cache=file_pages if "FilePages" in values else cache,
        dirty=values.get("Dirty", 0) + values.get("Writeback", 0),
        mapped=values.get("Mapped", 0),
        shared=shared,
        anonymous=values.get("AnonPages", 0),
        slab=values.get("Slab", 0),
        slab_reclaimable=values.get("SReclaimable", 0),
        huge=values.get("nr_hugepages", 0),
        huge_free=values.get("free_hugepages", 0),
        unevictable=values.get("Unevictable", 0),
        watermarks=marks,
        counters=counters,
        fallback=fallback,
    )


def meminfo(path: Path) -> dict[str, int]:
    """A meminfo file's values, with kB converted to bytes; empty if it cannot be read."""
    values = {}
    for line in _text(path).splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal():
            key = name.split()[-1] if name.startswith("Node") else name
            values[key] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return values


def _counters(path: Path) -> Counters | None:
    words = {}
    for line in _text(path).splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdecimal():
            words[name] = int(value)
    if "numa_hit" not in words:
        return None
    return Counters(
        hit=words["numa_hit"],
        miss=words.get("numa_miss", 0),
        foreign=words.get("numa_foreign", 0),
        interleave_hit=words.get("interleave_hit", 0),
        local_node=words.get("local_node", 0),
        other_node=words.get("other_node", 0),
    )


def _watermarks(zoneinfo: Path) -> dict[int, Watermarks]:
    """The watermarks by node, without zones that have no pages."""
    found: dict[int, Watermarks] = {}
    node, zone = -1, {"min": 0, "low": 0, "high": 0}
    for line in _text(zoneinfo).splitlines():
        words = line.split()
        if line.startswith("Node") and "zone" in words:
            node = int(words[1].rstrip(","))
            zone = {}
        elif len(words) == 2 and words[0] in {"min", "low", "high", "managed"}:
            zone.setdefault(words[0], int(words[1]) * KERNEL_PAGE_BYTES)
        elif words[:1] == ["protection:"] and zone.get("managed", 0):
            # The largest reserve is that for the allocations of ordinary programs.
            reserve = max(int(word.strip("(),")) for word in words[1:]) * KERNEL_PAGE_BYTES
            before = found.get(node, Watermarks(0, 0, 0, 0))
            found[node] = Watermarks(
                before.minimum + zone.get("min", 0),
                before.low + zone.get("low", 0),
                before.high + zone.get("high", 0),
                # The reserve is at most the size of the zone.
                before.reserved + min(reserve, zone["managed"]),
            )
    return found


def _distances(folder: Path) -> list[int]:
    words = _text(folder / "distance").split()
    return [int(word) for word in words if word.isdecimal()]


def _fallback(
    node: int, nodes: list[int], distances: list[int], with_cpus: set[int]
) -> tuple[int, ...]:
    """The order of mm/page_alloc.c (find_next_best_node), without its load balancing."""
    row = dict(zip(nodes, distances, strict=False))

    def cost(other: int) -> tuple[int, int]:
        return row.get(other, 255) + (other < node) + (other in with_cpus), other

    return (node, *sorted((other for other in nodes if other != node), key=cost))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
