# SPDX-License-Identifier: Apache-2.0
"""The verb `machine show`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.panel import Panel
from rich.style import Style as TextStyle
from rich.table import Table
from rich.text import Text

from numascape import terminal
from numascape.commands._options import MachineOption, output_to
from numascape.commands._written import say_written

if TYPE_CHECKING:
    from numascape.machine.description import Machine, MachineNode
    from numascape.machine.factors import Known


def show(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="MACHINE", help="The same as --machine MACHINE.", show_default=False
        ),
    ] = None,
    machine: MachineOption = None,
    output: Annotated[
        Path | None, output_to("Draw the machine to a .svg, .png, .pdf or .html file instead.")
    ] = None,
    names: Annotated[
        bool, typer.Option("--list", help="Print the names of the shipped machines.")
    ] = False,
) -> None:
    """Print a machine: packages, nodes, memory, caches, CPUs, latencies and bandwidths.

    The NUMA factor of a pair of nodes is its read latency, divided by the latency within the first
    node. It comes from latencies (measured, published, or the HMAT of the firmware), or else from
    the firmware's distances (SLIT). The provenance is printed below the matrix.

    Example: `numascape machine show xeon-6980p-snc3`
    """
    from numascape.errors import NumascapeError
    from numascape.machine.sources import open_machine, shipped_machines

    if names:
        print("\n".join(shipped_machines()))
        return
    if name is not None and machine is not None:
        raise NumascapeError(f"two machines are named, {name} and {machine}: name one")
    opened = open_machine(name if machine is None else machine)
    if output is not None:
        _draw(opened, output)
    else:
        print_machine(opened, terminal.output())


def _draw(machine: Machine, file: Path) -> None:
    if file.suffix.lower() == ".html":
        from numascape.report.machine_page import render_machine

        say_written(file, render_machine(machine, file))
        return
    from numascape.figures.machine_file import save_machine

    save_machine(machine, file)
    terminal.say(f"wrote {file}")


def print_machine(machine: Machine, console: Console) -> None:
    """Print the machine's boxes, its matrices with their sources, and its notes."""
    console.print(Text(terminal.printable(machine.name), "bold"))
    width = min(console.width, 100)
    for title, nodes in _packages(machine):
        console.print(_package(machine, title, nodes, width))
    _print_matrices(machine, console)
    from numascape.commands.machine.curves import print_curves
    from numascape.machine.wording import provenance_text

    print_curves(machine, console)

    if machine.provenance is not None:
        line = f"topology: {provenance_text(machine.provenance)}"
        console.print(Text(terminal.printable(line), "dim"), soft_wrap=True)
    for note in machine.notes:
        console.print(terminal.printable(f"note: {note}"), soft_wrap=True)


def _packages(machine: Machine) -> list[tuple[str, list[MachineNode]]]:
    """Title and nodes of each box."""
    owned, rest = machine.package_nodes()
    boxes = [(f"package {i}", nodes) for i, nodes in enumerate(owned) if nodes]
    return [*boxes, ("memory without CPUs of its own", rest)] if rest else boxes


def _package(machine: Machine, title: str, nodes: list[MachineNode], width: int) -> Panel:
    from numascape.machine.kernel_lists import format_cpu_list
    from numascape.machine.wording import cache_text
    from numascape.quantities import bytes_text

    table = Table.grid(padding=(0, 2))
    usable = set(machine.usable_cpus)
    for node in nodes:
        memory = bytes_text(node.memory_bytes) if node.memory_bytes else "memory size unknown"
        kind = f" {terminal.printable(node.kind)}" if node.kind else ""
        cpus = Text(f"CPUs {format_cpu_list(node.cpus)}" if node.cpus else "no CPUs")
        if node.cpus and not usable.issuperset(node.cpus):
            allowed = format_cpu_list(usable & set(node.cpus)) or "none"
            cpus.append(f" (allowed: {allowed})", "yellow")
        table.add_row(Text(f"node {node.node}", "bold"), memory + kind, cpus)
        table.add_row("", "", Text(cache_text(machine, node), "dim"))
    return Panel(table, title=title, title_align="left", width=width)


def _print_matrices(machine: Machine, console: Console) -> None:
    from numascape.machine.factors import bandwidths, latencies, numa_factors

    several = len(machine.nodes) > 1
    for title, known, digits in (
        ("NUMA factors", numa_factors(machine), 2),
        ("read latency, ns", latencies(machine), 0),
        ("read bandwidth, GB/s", bandwidths(machine), 1),
    ):
        factors = title == "NUMA factors"
        values = [
            value
            for i, row in enumerate(known.values)
            for j, value in enumerate(row)
            if i != j or not (several or factors)
        ]
        if any(value is not None for value in values):
            _print_matrix(machine, title, known, digits, console)
        elif factors and several:
            console.print("NUMA factors between nodes: unknown")


def _print_matrix(
    machine: Machine, title: str, known: Known, digits: int, console: Console
) -> None:
    from numascape.machine.wording import provenance_text

    values = [value for row in known.values for value in row if value is not None]
    low, high = min(values), max(values)
    console.print(title)
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("from/to", justify="right")
    for node in machine.nodes:
        table.add_column(str(node.node), justify="right", no_wrap=True)
    for node, row in zip(machine.nodes, known.values, strict=True):
        if node.cpus:
            table.add_row(str(node.node), *(_cell(value, low, high, digits) for value in row))
    console.print(table)
    for source in known.sources():
        line = f"  {provenance_text(source)}"
        console.print(Text(terminal.printable(line), "dim"), soft_wrap=True)


def _cell(value: float | None, low: float, high: float, digits: int) -> Text:
    """The number on a background from green (lowest) over yellow to red (highest)."""
    if value is None:
        return Text("-", "dim")
    share = (value - low) / (high - low) if high > low else 0.0
    red, green = min(255, int(90 + 330 * share)), min(200, int(330 - 260 * share))
    style = TextStyle(color=f"rgb({red},{max(green, 60)},80)")
    return Text(f"{value:.{digits}f}", style)
