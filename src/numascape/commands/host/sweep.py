# SPDX-License-Identifier: Apache-2.0
"""The verb `host sweep`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal


def sweep(
    node: Annotated[
        str | None,
        typer.Option(
            "--node",
            metavar="N",
            help="Only these nodes, for example 0,1. Default: all.",
            show_default=False,
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--bytes",
            metavar="BYTES",
            help="Free this much on each node. Default: everything.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        float,
        typer.Option(
            "--keep",
            min=0.0,
            max=1.0,
            metavar="FRACTION",
            help="Keep this fraction of the clean cache.",
        ),
    ] = 0.0,
    sync: Annotated[
        bool,
        typer.Option("--sync/--no-sync", help="First write dirty cache, so that it can be freed."),
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Free clean page cache by allocating the memory of nodes for a moment. Needs no privileges.

    It allocates at most the memory that is free or can be freed. It stays above the watermarks and
    within the limits of control groups. It stops if pages go to other nodes. If memory still runs
    out, the kernel ends the sweep before other processes.

    Example: `numascape host sweep --node 0 --bytes 8G`
    """  # fmt: skip
    from numascape.commands.host.before_after import print_before_after
    from numascape.host.nodes import parse_nodes
    from numascape.host.state import read_state
    from numascape.host.sweeping import all_nodes
    from numascape.host.sweeping import sweep as sweep_nodes
    from numascape.quantities import parse_bytes

    before = read_state(Path("/"))
    nodes = parse_nodes(node, before.numbers) if node is not None else all_nodes(before)
    wanted = parse_bytes(size) if size is not None else None
    with terminal.amounts(quiet) as show:
        swept = sweep_nodes(nodes, wanted, keep, sync, _progress(show))
    if quiet:
        return
    print_before_after(before, read_state(Path("/")), nodes)
    for each in swept:
        if not each.full:
            terminal.say(f"node {each.node}: stopped early: {each.reason}")


def _progress(show: Callable[[str, int, int], None]) -> Callable[[int, int, int], None]:
    return lambda node, done, total: show(f"Sweeping node {node}", done, total)
