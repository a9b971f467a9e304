# SPDX-License-Identifier: Apache-2.0
"""Prints what left the nodes' memory between two states."""

from __future__ import annotations

from rich.table import Table

from numascape import terminal
from numascape.host.state import HostState
from numascape.quantities import bytes_text


def print_before_after(before: HostState, after: HostState, nodes: list[int]) -> None:
    """A line for each node: free, clean and dirty cache before and after, and what was freed."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for title in ("free before", "after", "clean cache before", "after", "dirty", "freed"):
        table.add_column(title, justify="right", no_wrap=True)
    for number in nodes:
        old, new = before.node(number), after.node(number)
        values = [old.free, new.free, old.clean, new.clean, new.dirty, max(0, new.free - old.free)]
        table.add_row(f"node {number}", *(bytes_text(value) for value in values))
    terminal.output().print(table)
