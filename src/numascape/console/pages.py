# SPDX-License-Identifier: Apache-2.0
"""Draws where the memory and threads of a running process are."""

from __future__ import annotations

from typing import Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from numascape.appearance.palette import CATEGORIES
from numascape.console.tables import name, table_of
from numascape.live.mapping_names import file_name
from numascape.live.notes import notes_of
from numascape.live.snapshot import Snapshot
from numascape.live.structures import Structure, node_uses, structures_of
from numascape.machine.kernel_lists import format_cpu_list
from numascape.quantities import bytes_text, counted

_STRIP: Final = 16
_UNLIMITED: Final = 10_000
_SYMBOLS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_MAX_COLUMNS: Final = 8  # with more nodes, a strip and the largest shares


def drawn(snapshot: Snapshot, console: Console, top: int, in_detail: bool) -> Group:
    """The process: its nodes, its `top` largest structures, its threads by node."""
    lines: list[RenderableType] = [_title(snapshot), _nodes(snapshot)]
    lines.append(_structures(snapshot, console, top, in_detail))
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


def _structures(snapshot: Snapshot, console: Console, top: int, in_detail: bool) -> Table:
    every = [item for item in structures_of(snapshot, in_detail) if item.resident or item.swapped]
    nodes = snapshot.numbers
    if any(-1 in item.nodes for item in every):
        nodes = [*nodes, -1]
    shown, rest = every[:top], every[top:]
    if rest:
        shown = [*shown, _together(rest)]
    columns = nodes if len(nodes) <= _MAX_COLUMNS else []
    rows = [
        (
            name(file_name(item.name) if item.kind == "file" else item.name),
            item.kind,
            bytes_text(item.resident),
            *(bytes_text(item.nodes.get(node, 0)) if item.nodes.get(node) else "·"
              for node in columns),
            _strip(item, nodes),
            name(", ".join(sorted(item.policies))),
        )
        for item in shown
    ]  # fmt: skip
    by_node = [f"node {node}" if node >= 0 else "unknown" for node in columns]
    headings = ("structure", "kind", "in memory", *by_node, "by node", "policy")
    table = table_of(headings, rows, console.width, text=("structure", "kind", "by node", "policy"))
    if console.color_system is not None and not console.no_color:
        _colour(table, nodes)
    return table


def _together(rest: list[Structure]) -> Structure:
    nodes: dict[int, int] = {}
    for item in rest:
        for node, count in item.nodes.items():
            nodes[node] = nodes.get(node, 0) + count
    return Structure(
        counted(len(rest), "more structure"),
        "",
        anonymous=sum(item.anonymous for item in rest),
        mapped_file=sum(item.mapped_file for item in rest),
        nodes=nodes,
    )


def _strip(item: Structure, nodes: list[int]) -> str:
    """One symbol, the number of a node, per sixteenth; cumulative rounding keeps the length."""
    total, sofar, text = sum(item.nodes.values()), 0, ""
    for node in nodes if total else ():
        sofar += item.nodes.get(node, 0)
        symbol = _SYMBOLS[node % len(_SYMBOLS)] if node >= 0 else "?"
        text += symbol * (round(sofar / total * _STRIP) - len(text))
    return text


def _colour(table: Table, nodes: list[int]) -> None:
    """Colour the symbols of the strips by node."""
    (column,) = (column for column in table.columns if column.header == "by node")
    for cell in column._cells:
        if isinstance(cell, Text):
            for at, symbol in enumerate(cell.plain):
                number = next(
                    (node for node in nodes if node >= 0
                     and _SYMBOLS[node % len(_SYMBOLS)] == symbol), None,
                )  # fmt: skip
                if number is not None:
                    cell.stylize(CATEGORIES[number % len(CATEGORIES)], at, at + 1)
