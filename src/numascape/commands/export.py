# SPDX-License-Identifier: Apache-2.0
"""The verb `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from numascape import terminal
from numascape.commands._jobs import is_job, open_analysed_job, open_trace
from numascape.commands._options import QuietOption, TraceArgument


def export(
    trace: TraceArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="The folder for the tables, or the file for another tool.",
            show_default=False,
        ),
    ],
    file_format: Annotated[
        Literal["csv", "parquet", "callgrind", "speedscope", "chrome"],
        typer.Option("--format", help="The format of the tables, or the tool that reads the file."),
    ] = "csv",
    quiet: QuietOption = False,
) -> None:
    """Write the tables of a trace as files for other programs, or one file for another tool.

    With csv and parquet, the folder gets one file per table and trace.json; docs/trace-format.md
    describes them. For a job, it gets the sums of the ranks, and a folder rank=NUMBER for each
    rank. The other formats are one file: accesses by source line for KCachegrind (callgrind), flame
    graphs by allocation (speedscope), threads, phases and first touches over time for Perfetto
    (chrome).

    Example: `numascape export run.numascape --format csv -o tables`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.trace import Trace
    from numascape.trace.export import export_tables
    from numascape.trace.schema import SCHEMAS

    if file_format != "csv" and file_format != "parquet":
        from numascape.exchange.write import write_for_tool

        write_for_tool(open_trace(trace), file_format, output)
        if not quiet:
            terminal.say(f"wrote {output}")
        return
    if is_job(trace):
        from numascape.jobs.export import export_job

        job = open_analysed_job(trace, None, mpi=False, quiet=quiet)
        exported, count = export_job(job, output, file_format), len(SCHEMAS) * job.ranks.height
    else:
        exported, count = export_tables(Trace.read(trace), output, file_format), len(SCHEMAS) + 1
    files = list(terminal.track(exported, count, "Exporting", quiet))
    if not quiet:
        terminal.say(f"wrote {len(files)} files into {output}")
