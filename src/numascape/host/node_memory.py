# SPDX-License-Identifier: Apache-2.0
"""What fills the memory of each node, as the kernel's files say. Every reader takes a root path.

Sources: Documentation/admin-guide/numastat.rst, drivers/base/node.c (meminfo), mm/vmstat.c
(zoneinfo) of the Linux kernel.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NODES: Final = "sys/devices/system/node"
# zoneinfo counts pages of its kernel; a copy of another host's is taken to have this host's size.
PAGE: Final = mmap.PAGESIZE


@dataclass(frozen=True)
class Watermarks:
    """Free bytes of a node at which the kernel acts, summed over its zones.

    At `low` an allocation that may go elsewhere goes elsewhere, at `minimum` one that may not
    has to wait for pages to be freed. `reserved` is kept for allocations that need low addresses
    (lowmem_reserve).
    """

    minimum: int
    low: int
    high: int
    reserved: int


@dataclass(frozen=True)
class Counters:
    """Pages allocated since the system started: numastat's own words."""

    hit: int
    miss: int
    foreign: int
    interleave_hit: int
    local_node: int
    other_node: int


@dataclass(frozen=True)
class NodeMemory:
    """A node's memory in bytes; what the kernel does not tell is 0, or None for a whole part.

    `cache` is page cache of files on disks; of it `dirty` must be written before it can leave and
    `mapped` is in use by programs, so `clean` is what leaves at once. `shared` is tmpfs and shared
    memory: it looks like cache, but leaves only when it is deleted. `huge_free` of the bytes set
    aside as huge pages are unused.
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
    # Nodes by distance, this one first: where its allocations go when it is full.
    fallback: tuple[int, ...]

    @property
    def clean(self) -> int:
        """Page cache that leaves without being written: neither dirty nor mapped."""
        return max(0, self.cache - self.dirty - self.mapped)

    @property
    def usable(self) -> int:
        """Free bytes that programs get before the kernel looks at other nodes."""
        if self.watermarks is None:
            return self.free
        return max(0, self.free - self.watermarks.low - self.watermarks.reserved)

    @property
    def reclaimable(self) -> int:
        """Bytes that leave when memory is needed: clean page cache and the kernel's own caches."""
        return self.clean + self.slab_reclaimable

    @property
    def other(self) -> int:
        """Bytes in use for nothing of the above: the kernel's, page tables, drivers."""
        known = self.free + self.cache + self.shared + self.anonymous + self.slab + self.huge
        return max(0, self.total - known)


def read_nodes(root: Path) -> list[NodeMemory]:
    """The nodes that have memory, ascending; one, from /proc, where the kernel shows no nodes."""
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
    """The whole system's meminfo, in the words of a node's."""
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
        # FilePages has pages that are locked, too; without it the lists are all there is.
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
    """A meminfo file's values, in bytes where it has kB; empty when it cannot be read."""
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
    """By node; zones without pages count nothing."""
    found: dict[int, Watermarks] = {}
    node, zone = -1, {"min": 0, "low": 0, "high": 0}
    for line in _text(zoneinfo).splitlines():
        words = line.split()
        if line.startswith("Node") and "zone" in words:
            node = int(words[1].rstrip(","))
            zone = {}
        elif len(words) == 2 and words[0] in {"min", "low", "high", "managed"}:
            zone.setdefault(words[0], int(words[1]) * PAGE)
        elif words[:1] == ["protection:"] and zone.get("managed", 0):
            # The last entries are those of ordinary programs' allocations.
            reserve = max(int(word.strip("(),")) for word in words[1:]) * PAGE
            before = found.get(node, Watermarks(0, 0, 0, 0))
            found[node] = Watermarks(
                before.minimum + zone.get("min", 0),
                before.low + zone.get("low", 0),
                before.high + zone.get("high", 0),
                # No more is kept from programs than the zone has.
                before.reserved + min(reserve, zone["managed"]),
            )
    return found


def _distances(folder: Path) -> list[int]:
    words = _text(folder / "distance").split()
    return [int(word) for word in words if word.isdecimal()]


def _fallback(
    node: int, nodes: list[int], distances: list[int], with_cpus: set[int]
) -> tuple[int, ...]:
    """The order of mm/page_alloc.c (find_next_best_node), but for its balancing among equals."""
    row = dict(zip(nodes, distances, strict=False))

    def cost(other: int) -> tuple[int, int]:
        return row.get(other, 255) + (other < node) + (other in with_cpus), other

    return (node, *sorted((other for other in nodes if other != node), key=cost))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
