# SPDX-License-Identifier: Apache-2.0
"""The verb `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from numascape import terminal
from numascape.commands._options import QuietOption, TraceArgument


def export(
    trace: TraceArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="The folder for the files.", show_default=False
        ),
    ],
    file_format: Annotated[
        Literal["csv", "parquet"], typer.Option("--format", help="The format of the tables.")
    ] = "csv",
    quiet: QuietOption = False,
) -> None:
    """Write the tables of a trace as files for other programs.

    The folder gets one file per table and trace.json; docs/trace-format.md describes them.

    Example: `numascape export run.numascape --format csv -o tables`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.trace import Trace
    from numascape.trace.export import export_tables
    from numascape.trace.schema import SCHEMAS

    exported = export_tables(Trace.read(trace), output, file_format)
    files = list(terminal.track(exported, len(SCHEMAS) + 1, "Exporting", quiet))
    if not quiet:
        terminal.say(f"wrote {len(files)} files into {output}")
