# SPDX-License-Identifier: Apache-2.0
"""The verb `import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A file that perf mem record or perf record -d wrote.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="TRACE",
            help="The trace to write. Default: FILE.numascape.",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")
    ] = False,
) -> None:
    """Convert samples of memory accesses from perf to a trace.

    The samples can be from PEBS (Intel), IBS (AMD) or SPE (Arm), or page faults from the kernel.
    The trace is marked as sampled: its counts are numbers of samples, its shares are estimates.

    Example: `perf mem record -- ./program; numascape import perf.data`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.analysis.run_description import describe_run
    from numascape.samples.perf_data import read_perf_data
    from numascape.samples.tables import convert_samples
    from numascape.trace import Trace
    from numascape.trace.check_target import check_replaceable
    from numascape.trace.write import write_trace

    target = output or Path(f"{file.name}.numascape")
    check_replaceable(target)
    write_trace(target, *convert_samples(read_perf_data(file)))
    if not quiet:
        for line in describe_run(Trace.read(target)):
            terminal.say(line)
        terminal.say(f"wrote {target}; look at it with:")
        terminal.suggest("report", str(target))
