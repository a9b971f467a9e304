# SPDX-License-Identifier: Apache-2.0
"""Draws where the memory and threads of a running process are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from numascape.console.structure_table import (
    StructureRow,
    strip_note,
    strip_of,
    structure_table,
)
from numascape.console.tables import name, table_of
from numascape.live.mapping_names import file_name
from numascape.live.notes import notes_of
from numascape.live.positions import placed_bytes
from numascape.live.snapshot import Snapshot
from numascape.live.structures import Structure, node_uses, structures_of
from numascape.machine.kernel_lists import format_cpu_list
from numascape.quantities import bytes_text, counted

_UNLIMITED: Final = 10_000


def drawn(snapshot: Snapshot, console: Console, top: int, in_detail: bool) -> Group:
    """The process: its nodes, its `top` largest structures, its threads by node."""
    lines: list[RenderableType] = [_title(snapshot), _nodes(snapshot)]
    rows = _rows(snapshot, top, in_detail)
    if rows:
        lines.append(structure_table(rows, snapshot.numbers, console, snapshot.huge_told))
        lines.append(Text(strip_note([row.strip for row in rows]), "dim"))
    lines += [Text(name(line), "dim") for line in notes_of(snapshot)]
    return Group(*lines)


def _title(snapshot: Snapshot) -> Text:
    total = sum(use.anonymous + use.mapped_file for use in node_uses(snapshot))
    about = "about " if snapshot.every > 1 else ""
    threads = counted(len(snapshot.threads), "thread")
    text = f"{snapshot.target}: {about}{bytes_text(total)} in memory, {threads}"
    return Text(name(text), "bold")


def _nodes(snapshot: Snapshot) -> Table:
    rows = []
    for use in node_uses(snapshot):
        bound = sum(thread.nodes(snapshot.nodes) == [use.node] for thread in snapshot.threads)
        rows.append(
            (
                f"node {use.node}" if use.node >= 0 else "unknown",
                bytes_text(use.anonymous),
                bytes_text(use.mapped_file),
                bytes_text(use.huge) if snapshot.huge_told or use.huge else "?",
                str(use.threads),
                str(bound),
                format_cpu_list(snapshot.nodes.get(use.node, ())),
            )
        )
    headings = ("", "anonymous", "files", "in huge pages", "threads", "bound here", "CPUs")
    return table_of(headings, rows, _UNLIMITED, text=("", "CPUs"))


def _rows(snapshot: Snapshot, top: int, in_detail: bool) -> list[StructureRow]:
    every = [item for item in structures_of(snapshot, in_detail) if item.resident or item.swapped]
    rows = [_row(snapshot, item) for item in every[:top]]
    return [*rows, _together(every[top:])] if every[top:] else rows


def _row(snapshot: Snapshot, item: Structure) -> StructureRow:
    return StructureRow(
        file_name(item.name) if item.kind == "file" else item.name,
        item.kind,
        item.resident,
        item.nodes,
        item.page_sizes,
        strip_of(placed_bytes(snapshot.cells, snapshot.parts, item.parts)),
        ", ".join(sorted(item.policies)),
    )


def _together(rest: Sequence[Structure]) -> StructureRow:
    """The sums of these structures."""
    nodes: dict[int, int] = {}
    page_sizes: dict[int, int] = {}
    for item in rest:
        for sums, counts in ((nodes, item.nodes), (page_sizes, item.page_sizes)):
            for key, count in counts.items():
                sums[key] = sums.get(key, 0) + count
    resident = sum(item.resident for item in rest)
    return StructureRow(counted(len(rest), "more structure"), "", resident, nodes, page_sizes, "")
