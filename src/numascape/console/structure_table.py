# SPDX-License-Identifier: Apache-2.0
"""The table of the structures of running processes: bytes by node, by size of page, by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from numascape.appearance.palette import CATEGORIES
from numascape.console.tables import name, table_of
from numascape.live.snapshot import HUGE_PAGE
from numascape.live.strips import NOTHING, SEVERAL, UNKNOWN
from numascape.quantities import bytes_text, share_text

# Up to this share, pages whose node is unknown (mostly the zero page) have no column.
_LITTLE: Final = 0.01
_OTHERS: Final = {SEVERAL: "*", NOTHING: "·", UNKNOWN: "?"}
_SYMBOLS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_BY_POSITION: Final = "by position"
# Characters of a column of bytes, of the largest shares, and of all columns but those of nodes.
_OF_BYTES, _OF_SHARES, _OF_OTHERS = 9, 20, 52
# Of the longest name, before other columns are left out.
_OF_NAME: Final = 30
Shown = tuple[str, list[str]]
"""A column: its heading and its cells."""
_GIB: Final = 1 << 30


@dataclass(frozen=True)
class StructureRow:
    """A structure as it is printed. `nodes` and `page_sizes` are bytes by node and size of page.

    `processes` says in which processes it is; empty if only one is shown.
    """

    name: str
    kind: str
    resident: int
    nodes: Mapping[int, int]
    page_sizes: Mapping[int, int]
    strip: str
    policy: str = ""
    processes: str = ""


def structure_table(
    rows: Sequence[StructureRow], nodes: Sequence[int], console: Console, huge_told: bool
) -> Table:
    """The rows as a table that fits the console.

    The processes and policies are left out if they are the same in all rows, policies and kinds
    also if the console is too narrow.
    """
    by_node = list(nodes)
    unknown = sum(row.nodes.get(-1, 0) for row in rows)
    if unknown > _LITTLE * sum(row.resident for row in rows):
        by_node.append(-1)
    columns: list[Shown] = [("structure", [name(row.name) for row in rows])]
    if any(row.processes for row in rows):
        columns.append(("processes", [row.processes for row in rows]))
    columns.append(("in memory", [bytes_text(row.resident) for row in rows]))
    columns += node_columns([row.nodes for row in rows], by_node, console.width, _OF_OTHERS)
    columns.append(("pages", [pages_text(row.page_sizes, huge_told) for row in rows]))
    columns.append((_BY_POSITION, [row.strip for row in rows]))
    if any(row.policy not in {"", "default"} for row in rows):
        _add_if_it_fits(columns, ("policy", [name(row.policy) for row in rows]), console.width)
    _add_if_it_fits(columns, ("kind", [row.kind for row in rows]), console.width)
    headings = [heading for heading, _ in columns]
    cells = list(zip(*(column for _, column in columns), strict=True))
    left = ("structure", "kind", "largest shares", "pages", "policy")
    table = table_of(headings, cells, console.width, text=left)
    if console.color_system is not None and not console.no_color:
        _colour(table, nodes)
    return table


def _add_if_it_fits(columns: list[Shown], column: Shown, width: int) -> None:
    """Add a column if enough characters are left for names."""
    widths = [max(map(len, [heading, *cells])) + 1 for heading, cells in [*columns, column]]
    widths[0] = min(widths[0], _OF_NAME)
    if sum(widths) <= width:
        columns.append(column)


def node_columns(
    rows: Sequence[Mapping[int, int]], nodes: Sequence[int], width: int, others: int
) -> list[Shown]:
    """A column of bytes for each node, or one with the largest shares if these do not fit.

    `others` is the width of the other columns.
    """
    if len(nodes) > 2 and others + len(nodes) * _OF_BYTES > width:
        return [("largest shares", [_largest_shares(row) for row in rows])]
    return [
        (
            f"node {node}" if node >= 0 else "unknown",
            [bytes_text(row[node]) if row.get(node) else "·" for row in rows],
        )
        for node in nodes
    ]


def _largest_shares(nodes: Mapping[int, int]) -> str:
    """The two nodes with the most bytes, in at most _OF_SHARES characters."""
    total = sum(nodes.values())
    most = sorted(nodes, key=lambda node: (-nodes[node], node))[:2]
    return ", ".join(
        f"{node if node >= 0 else _symbol(UNKNOWN)}: {share_text(nodes[node] / total)}"
        for node in most
        if nodes[node]
    )[:_OF_SHARES]


def pages_text(page_sizes: Mapping[int, int], huge_told: bool) -> str:
    """The sizes of the pages, that with the most bytes first: `4K`, `2M 75%, 4K`.

    If all but half a percent have one size, only this is named. Without `huge_told`, pages
    that seem small may be huge.
    """
    total = sum(page_sizes.values())
    sizes = sorted((size for size in page_sizes if page_sizes[size]), key=lambda s: -page_sizes[s])
    names = [_size_name(size) if huge_told or size >= HUGE_PAGE else "?" for size in sizes]
    percent = round(100 * page_sizes[sizes[0]] / total) if sizes else 0
    if percent in {0, 100}:
        return "".join(names[:1])
    return ", ".join([f"{names[0]} {percent}%", *names[1:]])


def _size_name(size: int) -> str:
    if size >= _GIB:
        return f"{size // _GIB}G"
    return f"{size >> 20}M" if size >= 1 << 20 else f"{size >> 10}K"


def strip_text(strip: Sequence[int]) -> str:
    """A symbol for each position of a strip (node_strip): the number of the node.

    `*`: several nodes. `·`: nothing is in memory. `?`: the node is unknown.
    """
    return "".join(_symbol(node) for node in strip)


def strip_note(strips: Sequence[str]) -> str:
    """The meaning of the strips' symbols, as far as they are not numbers of nodes."""
    used = "".join(strips)
    meanings = {SEVERAL: "several nodes", NOTHING: "not in memory", UNKNOWN: "unknown"}
    found = [f"{_OTHERS[one]} {text}" for one, text in meanings.items() if _OTHERS[one] in used]
    return f"{_BY_POSITION}: the node of each 16th" + "".join(f"; {one}" for one in found)


def _symbol(node: int) -> str:
    return _SYMBOLS[node % len(_SYMBOLS)] if node >= 0 else _OTHERS[node]


def _colour(table: Table, nodes: Sequence[int]) -> None:
    """Colour the symbols of the strips by node."""
    of_symbol = {_symbol(node): node for node in reversed(nodes)}
    (column,) = (column for column in table.columns if column.header == _BY_POSITION)
    for cell in column._cells:
        if isinstance(cell, Text):
            for at, symbol in enumerate(cell.plain):
                if symbol in of_symbol:
                    colour = CATEGORIES[of_symbol[symbol] % len(CATEGORIES)]
                    cell.stylize(colour, at, at + 1)
