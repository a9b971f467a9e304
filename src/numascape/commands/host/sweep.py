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
            "--node", metavar="N", help="Only these, such as 0,1; else all.", show_default=False
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--bytes",
            metavar="BYTES",
            help="Make so much of each node free; else all.",
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
            help="Leave this part of the clean cache.",
        ),
    ] = 0.0,
    sync: Annotated[
        bool, typer.Option("--sync/--no-sync", help="Write dirty cache first, so it can leave.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only mistakes.")] = False,
) -> None:
    """Make clean page cache leave nodes: take their memory for a moment. Needs no privilege.

    Takes no more than is free or can be freed, stays above the watermarks and within limits of
    control groups, stops when pages stop landing on the node, and offers itself to the kernel as
    the first to end should memory run out all the same.

    Example: `numascape host sweep --node 0 --bytes 8G`
    """  # fmt: skip
    from numascape.commands.host.before_after import print_before_after
    from numascape.host.quantities import parse_bytes, parse_nodes
    from numascape.host.state import read_state
    from numascape.host.sweeping import all_nodes
    from numascape.host.sweeping import sweep as sweep_nodes

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
