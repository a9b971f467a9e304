# SPDX-License-Identifier: Apache-2.0
"""The verb `host drop`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.errors import NumascapeError


def drop(
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="N", help="Only this node.", show_default=False),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--files",
            metavar="PATH",
            show_default=False,
            help="Only these of your files, or all below a folder. Can be repeated.",
        ),
    ] = None,
) -> None:
    """Free page cache: all of it as root, otherwise that of your own files. Prints what was freed.

    As root, dirty pages are written first and then freed; otherwise they are not freed. With
    --node, only files with pages on this node are freed.

    Example: `numascape host drop --files ~/data`
    """  # fmt: skip
    from numascape.commands.host.before_after import print_before_after
    from numascape.host.dropping import drop_caches
    from numascape.host.nodes import parse_nodes
    from numascape.host.state import read_state

    before = read_state(Path("/"))
    nodes = parse_nodes(node, before.numbers) if node is not None else before.numbers
    if files:
        if node is not None and len(nodes) > 1:
            raise NumascapeError("--files works with one node: leave out --node, or name one node")
        _evict(files, nodes[0] if node is not None else None)
        return
    if os.geteuid() != 0:
        raise NumascapeError(
            "only root may drop the cache of all users: name your files with --files, or use "
            "numascape host sweep"
        )
    if node is None:
        drop_caches(Path("/"))
    else:
        # The kernel's drop_caches cannot be limited to a node.
        from numascape.host.sweeping import sweep

        sweep(nodes, None, 0.0, True, lambda *_: None)
    print_before_after(before, read_state(Path("/")), nodes)


def _evict(files: list[Path], node: int | None) -> None:
    from numascape.host.files import evict, regular_files
    from numascape.host.node_memory import KERNEL_PAGE_BYTES
    from numascape.quantities import bytes_text, counted

    done = evict(regular_files(files), node)
    places = [
        f"{bytes_text(KERNEL_PAGE_BYTES * pages)} on node {place}" if place >= 0 else
        f"{bytes_text(KERNEL_PAGE_BYTES * pages)} on unknown nodes"
        for place, pages in sorted(done.freed.items()) if pages
    ]  # fmt: skip
    freed = ", ".join(places) or "nothing"
    terminal.output().print(f"freed of {done.files} files: {freed}", soft_wrap=True)
    if done.kept:
        stays = bytes_text(KERNEL_PAGE_BYTES * done.kept)
        terminal.say(f"{stays} were not freed: dirty (sync first), mapped by a program, or locked")
    if done.foreign:
        others = counted(done.foreign, "file")
        terminal.say(f"not freed, because other users own them: {others}")
