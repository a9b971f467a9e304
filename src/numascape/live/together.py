# SPDX-License-Identifier: Apache-2.0
"""Several processes together: what they share is counted once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from numascape.live.positions import PlacedBytes, behind_each_other, placed_bytes
from numascape.live.shared_files import FileKey, SharedFile, key_of
from numascape.live.snapshot import HUGE_PAGE, PartCount, Snapshot
from numascape.live.structures import ProcessOnNode, Structure, structures_of
from numascape.live.targets import TargetProcess


@dataclass(frozen=True)
class ProcessSums:
    """The memory that a process maps, in bytes.

    `nodes` is all of it by node, and `shared_nodes` that of files that others map, too. `files` is
    without these.
    """

    target: TargetProcess
    anonymous: int
    files: int
    shared_nodes: dict[int, int]
    nodes: dict[int, int]
    threads: int

    @property
    def shared(self) -> int:
        """The bytes of files that others map, too."""
        return sum(self.shared_nodes.values())

    @property
    def order(self) -> tuple[int, int]:
        """What to sort processes by: those with the most memory first."""
        return -sum(self.nodes.values()), self.target.pid


@dataclass
class JointStructure(Structure):
    """A structure of several processes, with the bytes of all of them.

    `processes` are indices of the snapshots in which it is, and `all_parts` its parts there, as
    (snapshot, part). `ranges` are the offsets in files that several processes map, each byte once;
    they have `shared` bytes in memory.
    """

    processes: set[int] = field(default_factory=set)
    all_parts: list[tuple[int, int]] = field(default_factory=list)
    ranges: list[tuple[FileKey, int, int]] = field(default_factory=list)
    shared: int = 0

    @property
    def is_shared(self) -> bool:
        """Whether most of it is in pages that several processes map."""
        return len(self.processes) > 1 and 2 * self.shared > self.resident


@dataclass(frozen=True)
class Together:
    """All processes: their nodes, the largest structures first, and the sums of each process.

    `shared_nodes` is the part of the nodes' bytes that is in files that several processes map.
    """

    snapshots: tuple[Snapshot, ...]
    nodes: list[ProcessOnNode]
    shared_nodes: dict[int, int]
    structures: list[JointStructure]
    processes: list[ProcessSums]
    files: dict[FileKey, SharedFile]

    @property
    def numbers(self) -> list[int]:
        """The online nodes and all other nodes with pages, ascending."""
        return sorted({node for snapshot in self.snapshots for node in snapshot.numbers})

    @property
    def huge_told(self) -> bool:
        """Whether transparent huge pages are distinguished from other pages."""
        return all(snapshot.huge_told for snapshot in self.snapshots)

    def placed(self, structure: JointStructure) -> PlacedBytes:
        """The bytes of a structure by position: in shared files, or else process after process."""
        if structure.is_shared:
            pieces = [self.files[key].placed(start, end) for key, start, end in structure.ranges]
        else:
            pieces = [
                placed_bytes(self.snapshots[at].cells, self.snapshots[at].parts, parts)
                for at, parts in _by_snapshot(structure.all_parts)
            ]
        return behind_each_other(pieces)


def together(
    snapshots: Sequence[Snapshot], files: dict[FileKey, SharedFile], in_detail: bool
) -> Together:
    """Add up the processes; `files` are those of read_shared_files."""
    own = [list(_own_counts(snapshot, files)) for snapshot in snapshots]
    structures = _joined(snapshots, own, files, in_detail)
    found = [item for item in structures if item.resident or item.swapped]
    shared = [
        (node, page_bytes, count)
        for file in files.values()
        for (node, page_bytes), count in file.counts(file.offset, file.end).items()
    ]
    return Together(
        tuple(snapshots),
        _nodes(snapshots, own, shared),
        bytes_by_node((node, count) for node, _, count in shared),
        sorted(found, key=lambda item: (-item.resident, -item.virtual, item.name)),
        [_sums(one, counts) for one, counts in zip(snapshots, own, strict=True)],
        files,
    )


def _own_counts(snapshot: Snapshot, files: dict[FileKey, SharedFile]) -> Iterator[PartCount]:
    """The counts of pages that no other process maps by the same file."""
    for count in snapshot.counts:
        mapping = snapshot.mappings[snapshot.parts[count.part].mapping]
        if count.memory != "file" or key_of(mapping) not in files:
            yield count


def _sums(snapshot: Snapshot, own: Sequence[PartCount]) -> ProcessSums:
    memory = {"anonymous": 0, "file": 0, "swapped": 0}
    for count in own:
        memory[count.memory] += count.bytes
    nodes = bytes_by_node(
        (one.node, one.bytes) for one in snapshot.counts if one.memory != "swapped"
    )
    own_nodes = bytes_by_node((one.node, one.bytes) for one in own if one.memory != "swapped")
    shared = {node: count - own_nodes.get(node, 0) for node, count in nodes.items()}
    threads = len(snapshot.threads)
    return ProcessSums(snapshot.target, memory["anonymous"], memory["file"], shared, nodes, threads)


def bytes_by_node(counts: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The sums of the bytes on each node."""
    sums: dict[int, int] = {}
    for node, count in counts:
        sums[node] = sums.get(node, 0) + count
    return sums


def _nodes(
    snapshots: Sequence[Snapshot],
    own: Iterable[Sequence[PartCount]],
    shared: Iterable[tuple[int, int, int]],
) -> list[ProcessOnNode]:
    """The use of each node; node -1 stands for pages whose node is unknown.

    `shared` has node, size of page and bytes of files that several processes map.
    """
    sums = {node: [0, 0, 0, 0] for snapshot in snapshots for node in snapshot.numbers}

    def add(node: int, column: int, page_bytes: int, count: int) -> None:
        row = sums.setdefault(node, [0, 0, 0, 0])
        row[column] += count
        row[2] += count if page_bytes >= HUGE_PAGE else 0

    for counts in own:
        for _, node, memory, page_bytes, count in counts:
            if memory != "swapped":
                add(node, 1 if memory == "file" else 0, page_bytes, count)
    for node, page_bytes, count in shared:
        add(node, 1, page_bytes, count)
    for thread in (thread for snapshot in snapshots for thread in snapshot.threads):
        sums.setdefault(thread.node, [0, 0, 0, 0])[3] += 1
    return [
        ProcessOnNode(node, *row) for node, row in sorted(sums.items()) if node >= 0 or any(row)
    ]


def _joined(
    snapshots: Sequence[Snapshot],
    own: Sequence[Sequence[PartCount]],
    files: dict[FileKey, SharedFile],
    in_detail: bool,
) -> list[JointStructure]:
    """The structures of all processes; those with the same name are one."""
    found: dict[tuple[str, str, str], JointStructure] = {}
    for number, (snapshot, counts) in enumerate(zip(snapshots, own, strict=True)):
        for item in structures_of(snapshot, in_detail, counts):
            joint = found.setdefault(item.key, JointStructure(item.name, item.kind, item.file))
            joint.add(item)
            joint.all_parts += [(number, part) for part in item.parts]
            ranges = [
                shared
                for part in item.parts
                if (shared := _range(snapshot, part, files)) is not None
            ]
            joint.ranges += ranges
            if item.resident or item.swapped or ranges:
                joint.processes.add(number)
    for joint in found.values():
        joint.ranges = _each_byte_once(joint.ranges)
        for key, start, end in joint.ranges:
            for (node, page_bytes), count in files[key].counts(start, end).items():
                joint.add_pages(node, "file", page_bytes, count)
                joint.shared += count
    return list(found.values())


def _range(
    snapshot: Snapshot, number: int, files: dict[FileKey, SharedFile]
) -> tuple[FileKey, int, int] | None:
    """The offsets in a shared file that a part maps."""
    part = snapshot.parts[number]
    mapping = snapshot.mappings[part.mapping]
    key = key_of(mapping)
    if key is None or key not in files:
        return None
    start = mapping.offset + part.start - mapping.start
    return key, start, start + part.end - part.start


def _each_byte_once(ranges: Iterable[tuple[FileKey, int, int]]) -> list[tuple[FileKey, int, int]]:
    """The ranges, ascending, joined where they overlap."""
    joined: list[tuple[FileKey, int, int]] = []
    for key, start, end in sorted(set(ranges)):
        if joined and joined[-1][0] == key and start <= joined[-1][2]:
            joined[-1] = (key, joined[-1][1], max(end, joined[-1][2]))
        else:
            joined.append((key, start, end))
    return joined


def _by_snapshot(parts: Sequence[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    found: dict[int, list[int]] = {}
    for snapshot, part in parts:
        found.setdefault(snapshot, []).append(part)
    return sorted(found.items())
