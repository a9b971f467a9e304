# SPDX-License-Identifier: Apache-2.0
"""The verb `machine export`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._balance_input import TargetOptions, one_host
from numascape.commands._options import MachineOption, output_to
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.machine import Machine


class Format(str, Enum):
    """The file formats."""

    hwloc_xml = "hwloc-xml"
    scotch = "scotch"
    csv = "csv"
    json = "json"


class MatrixOfNodes(str, Enum):
    """The numbers that the matrix between nodes has."""

    factors = "factors"
    latency = "latency"
    bandwidth = "bandwidth"
    distances = "distances"


def export(
    form: Annotated[Format, typer.Option("--format", "-f", help="The format.", show_default=False)],
    machine: MachineOption = None,
    output: Annotated[
        Path | None, output_to("The file to write. Default: standard output.")
    ] = None,
    matrix: Annotated[
        MatrixOfNodes, typer.Option("--matrix", help="With --format csv: which matrix.")
    ] = MatrixOfNodes.factors,
    level_costs: Annotated[
        str | None,
        typer.Option(
            "--level-costs",
            metavar="COSTS",
            help="With --format scotch: distances by level, as in `balance`. Default: by NUMA "
            "factor.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a machine in a format for other programs.

    hwloc-xml: topology, and latency and bandwidth as memory attributes (`lstopo --memattrs` shows
    them). scotch: a target architecture of the cores. csv: one matrix. json: a machine document.

    Example: `numascape machine export --machine numa32 --format scotch -o numa32.tgt`
    """
    from numascape.machine.document import encode_machine
    from numascape.machine.export_hwloc import hwloc_xml
    from numascape.machine.exports import matrix_csv, scotch_architecture
    from numascape.machine.sources import open_machine

    opened = open_machine(machine)
    if level_costs is not None and form is not Format.scotch:
        raise NumascapeError("--level-costs needs --format scotch")
    if form is Format.hwloc_xml:
        text = hwloc_xml(opened)
    elif level_costs is not None:
        text = _scotch_by_level(opened, machine, level_costs)
    elif form is Format.scotch:
        text = scotch_architecture(opened)
    elif form is Format.csv:
        text = matrix_csv(opened, matrix.value)
    else:
        text = encode_machine(opened).decode()
    if output is None:
        print(text, end="")
        return
    from numascape.atomic import replacing_file

    with replacing_file(output) as beside:
        beside.write_text(text)
    terminal.say(f"wrote {output}")


def _scotch_by_level(machine: Machine, source: str | None, level_costs: str) -> str:
    """Scotch's target with the cost of a message by level. Raises NumascapeError."""
    from numascape.balance.levels import with_levels
    from numascape.balance.place_levels import place_levels
    from numascape.machine.exports import scotch_target

    one, costs = one_host(machine, source, TargetOptions(None, None, None, level_costs, None))
    assert costs is not None
    target = with_levels(one, place_levels(one, machine), costs)
    core = target.core_node
    factor = target.factors(core[:, None], core)

    def cost(i: int, j: int) -> float:
        return float(max(factor[i, j], factor[j, i]))

    return scotch_target(target.cores, cost)
