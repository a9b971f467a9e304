# SPDX-License-Identifier: Apache-2.0
"""The verb `record`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape.commands._options import ProgramArgument, output_to
from numascape.commands._record_options import with_record_options
from numascape.commands._recording import record_as_asked
from numascape.commands._targets import pid_of
from numascape.recording.options import RecordOptions
from numascape.recording.request import RecordRequest


@with_record_options
def record(
    program: ProgramArgument = None,
    output: Annotated[
        Path | None,
        output_to(
            "The trace to write; {rank}, {host} and {pid} are replaced. Default: PROGRAM.numascape "
            "in the current folder.",
            metavar="TRACE",
        ),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="In a job: record only these ranks, such as 0,7,100-107; others run unchanged.",
            show_default=False,
        ),
    ] = None,
    pid: Annotated[
        str | None,
        typer.Option(
            metavar="PROCESS",
            help="Attach to this running process instead of running a program: its number or name.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="With --pid: how long to stay attached.", show_default=False),
    ] = None,
    measure_cost: Annotated[
        bool,
        typer.Option(
            "--measure-cost",
            help="First run the program once without recording, to measure the overhead.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")
    ] = False,
    *,
    options: RecordOptions,
) -> None:
    """Run a program and record which thread reads and writes which page of its memory.

    The program can be any executable and needs no change. Compile it with `-g`, so that structures
    have names. The program has its usual output, input, terminal and exit status.

    In a job, put `numascape record` between the launcher and the program. Each rank then writes its
    own part.

    Example: `numascape record -o run.numascape -- ./program 1000`

    Example: `mpirun -n 4 numascape record -o run.numascape -- ./program 1000`
    """
    request = RecordRequest(
        program or [],
        output,
        options,
        pid=None if pid is None else pid_of(pid),
        seconds=seconds,
        measure_cost=measure_cost,
        ranks=ranks,
        quiet=quiet,
    )
    raise typer.Exit(record_as_asked(request))
