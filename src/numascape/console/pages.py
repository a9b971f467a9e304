# SPDX-License-Identifier: Apache-2.0
"""Draws where the memory and threads of running processes are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from numascape.console.process_tables import node_table, process_table, threads_by_node
from numascape.console.structure_table import (
    StructureRow,
    strip_note,
    strip_text,
    structure_table,
)
from numascape.console.tables import name
from numascape.live.file_parts import by_offset
from numascape.live.mapping_names import file_name
from numascape.live.notes import notes_of
from numascape.live.positions import PlacedBytes, placed_bytes
from numascape.live.shared_files import FileKey, SharedFile
from numascape.live.snapshot import Snapshot
from numascape.live.strips import node_strip
from numascape.live.structures import ProcessOnNode, Structure, node_uses, structures_of
from numascape.live.together import JointStructure, ProcessSums, Together, together
from numascape.quantities import bytes_text, counted

Files = dict[FileKey, SharedFile]
# Of the lines for processes and structures, one in this many is for processes.
_FOR_PROCESSES: Final = 3
_HEADING = 1


def drawn(
    snapshots: Sequence[Snapshot],
    files: Files,
    console: Console,
    top: int,
    in_detail: bool,
) -> Group:
    """The processes together, and with `in_detail` also each of them, and their threads.

    They are shown with their `top` largest structures. `files` are those that they share.
    """
    if len(snapshots) == 1:
        return Group(*_one(snapshots[0], console, top, in_detail))
    lines = _several(together(snapshots, files, in_detail), console, top, top)
    if in_detail:
        for snapshot in snapshots:
            lines += [Text(), *_one(snapshot, console, top, in_detail)]
    return Group(*lines)


def fitted(
    snapshots: Sequence[Snapshot],
    files: Files,
    console: Console,
    top: int,
    in_detail: bool,
    height: int,
) -> Group:
    """The totals and the largest structures of all processes that fit in so many lines."""
    several = together(snapshots, files, in_detail) if len(snapshots) > 1 else None
    if several is None:
        others = _height([_title(snapshots[0]), *_end(snapshots)], console)
        others += _HEADING + len(node_uses(snapshots[0]))
        rows = max(1, height - others - 2 * _HEADING)  # one for the row of the others
        return Group(*_one(snapshots[0], console, min(top, rows), in_detail, with_threads=False))
    others = _height([_title_of_all(several), *_end(snapshots)], console)
    others += _HEADING + len(several.nodes)
    # Each table has a heading and a row of the others; the processes also have a sum.
    rows = max(2, height - others - 5 * _HEADING)
    processes = min(len(snapshots), max(1, rows // _FOR_PROCESSES), top)
    return Group(*_several(several, console, processes, min(top, max(1, rows - processes))))


def _height(texts: Sequence[Text], console: Console) -> int:
    return sum(len(text.wrap(console, console.width)) for text in texts)


def _one(
    snapshot: Snapshot, console: Console, top: int, in_detail: bool, with_threads: bool = True
) -> list[RenderableType]:
    every = _with_places(snapshot, in_detail)
    rows = [
        _row(item, placed or placed_bytes(snapshot.cells, snapshot.parts, item.parts))
        for item, placed in every[:top]
    ]
    rest = [item for item, _ in every[top:]]
    lines: list[RenderableType] = [_title(snapshot), node_table(node_uses(snapshot), [snapshot])]
    lines += _structures(rows, rest, snapshot.numbers, console, snapshot.huge_told)
    if in_detail and with_threads:
        lines.append(threads_by_node(snapshot, console, top))
    return [*lines, *_end([snapshot], rows)]


def _with_places(snapshot: Snapshot, in_detail: bool) -> list[tuple[Structure, PlacedBytes | None]]:
    """The structures with pages, the largest first; with `in_detail`, large files by offset.

    The bytes by position are there for parts of files.
    """
    found: list[tuple[Structure, PlacedBytes | None]] = []
    for item in structures_of(snapshot, in_detail):
        if item.resident or item.swapped:
            parts = by_offset(snapshot, item) if in_detail else []
            found += [(part.structure, part.placed) for part in parts] or [(item, None)]
    return sorted(found, key=lambda one: -one[0].resident)


def _several(
    found: Together, console: Console, processes: int, structures: int
) -> list[RenderableType]:
    rows = [
        _row(item, found.placed(item), _processes(item, found))
        for item in found.structures[:structures]
    ]
    rest = found.structures[structures:]
    lines: list[RenderableType] = [
        _title_of_all(found),
        node_table(found.nodes, found.snapshots),
        process_table(found.processes, _sum_of_all(found), found.numbers, console, processes),
    ]
    lines += _structures(rows, rest, found.numbers, console, found.huge_told)
    return [*lines, *_end(found.snapshots, rows)]


def _structures(
    rows: Sequence[StructureRow],
    rest: Sequence[Structure],
    nodes: Sequence[int],
    console: Console,
    huge_told: bool,
) -> list[RenderableType]:
    if rest:
        rows = [*rows, _row(_added(rest))]
    return [structure_table(rows, nodes, console, huge_told)] if rows else []


def _end(snapshots: Sequence[Snapshot], rows: Sequence[StructureRow] | None = None) -> list[Text]:
    """The notes; without `rows`, as long as they can be."""
    strips = ["*·?"] if rows is None else [row.strip for row in rows]
    notes = [strip_note(strips), *notes_of(*snapshots)]
    return [Text(name(line), "dim") for line in notes]


def _row(item: Structure, placed: PlacedBytes | None = None, processes: str = "") -> StructureRow:
    return StructureRow(
        file_name(item.name) if item.kind == "file" else item.name,
        item.kind,
        item.resident,
        item.nodes,
        item.page_sizes,
        strip_text(node_strip(placed)) if placed else "",
        ", ".join(sorted(item.policies)),
        processes,
    )


def _added(rest: Sequence[Structure]) -> Structure:
    """The sum of these structures."""
    total = Structure(counted(len(rest), "more structure"), "")
    for item in rest:
        total.add(item)
    total.policies = set()
    return total


def _processes(item: JointStructure, found: Together) -> str:
    """In how many processes it is, or in which one."""
    if len(item.processes) == 1:
        (number,) = item.processes
        return f"pid {found.snapshots[number].target.pid}"
    return f"{len(item.processes)} shared" if item.is_shared else f"{len(item.processes)}"


def _title(snapshot: Snapshot) -> Text:
    text = _amounts(node_uses(snapshot), [snapshot])
    return Text(name(f"{snapshot.target}: {text}"), "bold")


def _title_of_all(found: Together) -> Text:
    text = f"{counted(len(found.snapshots), 'process')}: {_amounts(found.nodes, found.snapshots)}"
    return Text(f"{text}; shared memory is counted once", "bold")


def _amounts(uses: Sequence[ProcessOnNode], snapshots: Sequence[Snapshot]) -> str:
    total = sum(use.anonymous + use.mapped_file for use in uses)
    about = "about " if any(one.every > 1 for one in snapshots) else ""
    threads = counted(sum(len(one.threads) for one in snapshots), "thread")
    return f"{about}{bytes_text(total)} in memory, {threads}"


def _sum_of_all(found: Together) -> ProcessSums:
    """All processes, with the pages of shared files once."""
    return ProcessSums(
        found.snapshots[0].target,
        sum(use.anonymous for use in found.nodes),
        sum(one.files for one in found.processes),
        found.shared_nodes,
        {use.node: use.anonymous + use.mapped_file for use in found.nodes},
        sum(use.threads for use in found.nodes),
    )
