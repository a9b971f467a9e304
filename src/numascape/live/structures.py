# SPDX-License-Identifier: Apache-2.0
"""The structures of a process: parts of the same name are one structure, with bytes by node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from numascape.live.files.parquet import whole_column
from numascape.live.mapping_names import file_name
from numascape.live.parts import Part
from numascape.live.snapshot import HUGE_PAGE, PartCount, Snapshot


@dataclass
class Structure:
    """Bytes of one name. `virtual` is the size of its addresses, the others are in memory.

    `nodes` is by node (-1: unknown), `page_sizes` by the bytes of a page; `anonymous` and
    `mapped_file` add up to each of them. `parts` are indices of the snapshot's parts.
    """

    name: str
    kind: str
    file: str = ""
    source: str = ""
    virtual: int = 0
    anonymous: int = 0
    mapped_file: int = 0
    swapped: int = 0
    nodes: dict[int, int] = field(default_factory=dict)
    page_sizes: dict[int, int] = field(default_factory=dict)
    policies: set[str] = field(default_factory=set)
    parts: list[int] = field(default_factory=list)

    @property
    def resident(self) -> int:
        """Bytes in memory."""
        return self.anonymous + self.mapped_file

    @property
    def huge(self) -> int:
        """Bytes in pages of 2 MiB or more."""
        return sum(count for size, count in self.page_sizes.items() if size >= HUGE_PAGE)

    @property
    def key(self) -> tuple[str, str, str]:
        """What distinguishes it from other structures.

        Variables of one name are distinguished by their declarations, and others by files; data of
        a module are partly in its file's mappings and partly not.
        """
        return self.name, self.kind, self.source if self.kind == "global" else self.file

    def add_pages(self, node: int, memory: str, page_bytes: int, count: int) -> None:
        """Add bytes, as in PartCount."""
        if memory == "swapped":
            self.swapped += count
            return
        self.nodes[node] = self.nodes.get(node, 0) + count
        self.page_sizes[page_bytes] = self.page_sizes.get(page_bytes, 0) + count
        if memory == "file":
            self.mapped_file += count
        else:
            self.anonymous += count

    def add(self, other: Structure) -> None:
        """Add the bytes and policies of another structure."""
        for sums, counts in ((self.nodes, other.nodes), (self.page_sizes, other.page_sizes)):
            for key, count in counts.items():
                sums[key] = sums.get(key, 0) + count
        self.virtual += other.virtual
        self.anonymous += other.anonymous
        self.mapped_file += other.mapped_file
        self.swapped += other.swapped
        self.policies |= other.policies
        self.source = self.source or other.source


def structures_of(
    snapshot: Snapshot, in_detail: bool = True, counts: Iterable[PartCount] | None = None
) -> list[Structure]:
    """The structures, the largest in memory first, with these counts or those of the snapshot.

    Unless `in_detail`, the tensors of a layer, the row groups of a column, and the sections of a
    file are one structure.
    """
    found: dict[tuple[str, str, str], Structure] = {}
    of_part = []
    for number, part in enumerate(snapshot.parts):
        name, kind = (part.name, part.kind) if in_detail else _outline(part)
        one = Structure(name, kind, part.file, part.source)
        structure = found.setdefault(one.key, one)
        structure.virtual += part.end - part.start
        structure.source = structure.source or part.source
        structure.parts.append(number)
        policy = snapshot.mappings[part.mapping].policy
        if policy:
            structure.policies.add(policy)
        of_part.append(structure)
    for number, node, memory, page_bytes, count in snapshot.counts if counts is None else counts:
        of_part[number].add_pages(node, memory, page_bytes, count)
    return sorted(found.values(), key=lambda item: (-item.resident, -item.virtual, item.name))


def _outline(part: Part) -> tuple[str, str]:
    if part.kind == "section":
        return part.file, "file"
    if part.kind == "column":
        return f"{whole_column(part.name)} of {file_name(part.file)}", "columns"
    if part.kind == "tensor":
        where = file_name(part.file)
        layer = "other tensors" if part.layer is None else f"layer {part.layer}"
        return f"{layer} of {where}", "tensors"
    return part.name, part.kind


@dataclass(frozen=True)
class ProcessOnNode:
    """The part of a process on a node, in bytes and threads (by the CPU of their last run)."""

    node: int
    anonymous: int
    mapped_file: int
    huge: int
    threads: int


def node_uses(snapshot: Snapshot) -> list[ProcessOnNode]:
    """The use of each node; node -1 stands for pages whose node is unknown."""
    sums: dict[int, list[int]] = {node: [0, 0, 0, 0] for node in snapshot.numbers}
    for _, node, memory, page_bytes, count in snapshot.counts:
        if memory != "swapped":
            row = sums.setdefault(node, [0, 0, 0, 0])
            row[1 if memory == "file" else 0] += count
            row[2] += count if page_bytes >= HUGE_PAGE else 0
    for thread in snapshot.threads:
        sums.setdefault(thread.node, [0, 0, 0, 0])[3] += 1
    return [
        ProcessOnNode(node, *row) for node, row in sorted(sums.items()) if node >= 0 or any(row)
    ]


def bound_threads(snapshots: Iterable[Snapshot]) -> dict[int, int]:
    """By node, the threads of these processes that may run on CPUs of this node only."""
    bound: dict[int, int] = {}
    for snapshot in snapshots:
        for thread in snapshot.threads:
            allowed = thread.nodes(snapshot.nodes)
            if len(allowed) == 1:
                bound[allowed[0]] = bound.get(allowed[0], 0) + 1
    return bound


def swapped_bytes(snapshot: Snapshot) -> int:
    """The bytes that are not in memory but in swap (or just being moved)."""
    return sum(count.bytes for count in snapshot.counts if count.memory == "swapped")
