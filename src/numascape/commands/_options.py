# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TraceArgument = Annotated[
    Path, typer.Argument(metavar="TRACE", help="The trace, NAME.numascape.", show_default=False)
]
ProgramArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="The program and its arguments, after `--`.",
        metavar="-- PROGRAM ARGUMENTS",
        show_default=False,
    ),
]
StructureOption = Annotated[
    str | None,
    typer.Option(
        "--structure",
        metavar="NAME",
        help="Only this structure (name or number). Default: the whole run.",
        show_default=False,
    ),
]
PhaseOption = Annotated[
    str | None,
    typer.Option(
        "--phase",
        metavar="NAME",
        help="Only this phase (name or number).",
        show_default=False,
    ),
]
MachineOption = Annotated[
    str | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="MACHINE",
        help="The machine: a file (JSON, hwloc XML, tarball of /sys and /proc), a folder with sys "
        "and proc, the name of a shipped machine, or a synthetic description. Default: this host.",
        show_default=False,
    ),
]
GainMachineOption = Annotated[
    str | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="MACHINE",
        help="Predict gains for this machine: a file (JSON, hwloc XML, tarball of /sys and /proc), "
        "a folder with sys and proc, the name of a shipped machine, or a synthetic description. "
        "Default: the recorded machine.",
        show_default=False,
    ),
]
ShownMachinesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="MACHINE",
        help="Show the run on this machine, as in `advise`: the name of a shipped machine, or a "
        "file, such as the description of the recorded machine that `numascape machine probe` "
        "writes. Give it several times to choose between machines in the page; `all`: all shipped "
        "machines. Default: the recorded machine; if it has one node, three others to choose.",
        show_default=False,
    ),
]
ProcessOption = Annotated[
    str | None,
    typer.Option(
        "--pid",
        "-p",
        metavar="PROCESS",
        help="The number or name of the process.",
        show_default=False,
    ),
]
PrometheusOption = Annotated[
    Path | None,
    typer.Option(
        "--prometheus",
        metavar="FILE",
        show_default=False,
        help="Write a file for node_exporter's textfile collector; - is standard output.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
NoProgressOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def output_to(help_text: str, metavar: str = "FILE") -> Any:
    """The option --output, -o of a verb that writes."""
    return typer.Option("--output", "-o", metavar=metavar, help=help_text, show_default=False)


def spread_of(help_text: str) -> Any:
    """The option --spread of a verb that measures: half a 95 % confidence interval."""
    return typer.Option("--spread", min=0.001, max=1.0, metavar="SHARE", help=help_text)
