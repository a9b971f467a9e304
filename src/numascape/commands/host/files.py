# SPDX-License-Identifier: Apache-2.0
"""The verb `host files`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from numascape import terminal

if TYPE_CHECKING:
    from numascape.host.files import FilePages


def files(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH", help="Files and folders. Default: this folder.", show_default=False
        ),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            "--node", metavar="N", help="Sort by memory on this node.", show_default=False
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Print this many files.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print all files as JSON.")] = False,
) -> None:
    """Show which files have pages in memory, and on which node.

    No page is read into memory. The kernel gives no information about files that you do not own and
    may not write. They are shown as unknown.

    Example: `numascape host files ~/data --top 10`
    """  # fmt: skip
    from numascape.host.files import look_at, regular_files
    from numascape.host.nodes import parse_nodes
    from numascape.host.state import read_state

    numbers = read_state(Path("/")).numbers
    by = parse_nodes(node, numbers) if node is not None else None
    found = look_at(regular_files(paths or [Path()]))
    found.sort(key=lambda file: -(sum(map(file.on, by)) if by else file.resident or 0))
    if as_json:
        print(json.dumps([_document(file) for file in found], indent=1))
    else:
        _print(found, numbers, top)


def _document(file: FilePages) -> dict[str, object]:
    return {**vars(file), "path": str(file.path)}


def _print(found: list[FilePages], numbers: list[int], top: int) -> None:
    from numascape.host.node_memory import KERNEL_PAGE_BYTES
    from numascape.quantities import bytes_text, counted

    console = terminal.output()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("in memory", *(f"node {node}" for node in numbers), "dirty", "size"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("file", overflow="fold")
    known = [file for file in found if file.resident]
    for file in known[:top]:
        pages = [file.resident, *(None if file.nodes is None else file.on(n) for n in numbers)]
        pages.append(file.dirty)
        cells = [
            "unknown" if count is None else bytes_text(KERNEL_PAGE_BYTES * count) for count in pages
        ]
        table.add_row(*cells, bytes_text(file.size), terminal.printable(str(file.path)))
    console.print(table)
    resident = sum(file.resident or 0 for file in known)
    sums = [
        f"{bytes_text(KERNEL_PAGE_BYTES * resident)} of {counted(len(found), 'file')} in memory"
    ]
    for node in numbers:
        there = sum(file.on(node) for file in known)
        sums.append(f"{bytes_text(KERNEL_PAGE_BYTES * there)} on node {node}")
    console.print(", ".join(sums), soft_wrap=True)
    unknown = sum(file.resident is None or file.nodes is None for file in found)
    if unknown:
        console.print(f"unknown: {unknown} files, about which the kernel gives you no information")
