# SPDX-License-Identifier: Apache-2.0
"""Prints a machine's controllers and curves: latency over size and load, bandwidth of threads."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from numascape import terminal
from numascape.machine.description import Controllers, Curve, Machine, Provenance
from numascape.machine.wording import provenance_text
from numascape.quantities import bytes_text

# So many fit into a line of 80 characters.
_POINTS = 8


def print_curves(machine: Machine, console: Console) -> None:
    """Print the controllers, and a line with a few points for each curve."""
    for controllers in machine.controllers:
        _print_controllers(machine, controllers, console)
    for curve in machine.latency_by_size:
        xs = [bytes_text(round(x)).replace(" ", "") for x, _ in _few(curve)]
        _print(f"read latency over size, ns{_place(curve)}", xs, curve, 1, console)
    for curve in machine.loaded_latency:
        xs = [f"{x:.3g}" for x, _ in _few(curve)]
        _print(f"read latency, ns, while others read, GB/s{_place(curve)}", xs, curve, 0, console)
    for curve in machine.scaling:
        xs = [f"{x:.0f}" for x, _ in _few(curve)]
        _print(f"{curve.operation} of all threads, GB/s, over their number", xs, curve, 1, console)


def _few(curve: Curve) -> list[tuple[float, float]]:
    """At most _POINTS of the points, evenly spread, with the first and the last one."""
    count = len(curve.points)
    if count <= _POINTS:
        return list(curve.points)
    return [curve.points[round(i * (count - 1) / (_POINTS - 1))] for i in range(_POINTS)]


def _place(curve: Curve) -> str:
    if curve.cpu_node is None or curve.memory_node is None:
        return ""
    if curve.cpu_node == curve.memory_node:
        return f", node {curve.cpu_node}"
    return f", CPUs of node {curve.cpu_node}, memory of node {curve.memory_node}"


def _print(title: str, xs: list[str], curve: Curve, digits: int, console: Console) -> None:
    _print_rows(title, xs, [f"{y:.{digits}f}" for _, y in _few(curve)], console)
    _print_source(curve.provenance, console)


def _print_controllers(machine: Machine, controllers: Controllers, console: Console) -> None:
    names = [f"node {node.node}" for node in machine.nodes]
    values = ["-" if value is None else f"{value:.1f}" for value in controllers.values]
    title = f"{controllers.operation} of each node's memory by all CPUs, GB/s"
    for start in range(0, len(names), _POINTS):
        part = slice(start, start + _POINTS)
        _print_rows(title if start == 0 else "", names[part], values[part], console)
    _print_source(controllers.provenance, console)


def _print_rows(title: str, heads: list[str], values: list[str], console: Console) -> None:
    if title:
        console.print(title)
    table = Table(box=None, padding=(0, 1, 0, 1))
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_row(*values)
    console.print(table)


def _print_source(provenance: Provenance, console: Console) -> None:
    line = terminal.printable(f"  {provenance_text(provenance)}")
    console.print(Text(line, "dim"), soft_wrap=True)
