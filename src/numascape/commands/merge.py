# SPDX-License-Identifier: Apache-2.0
"""The verb `merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._jobs import DaskOption, MpiOption, open_analysed_job
from numascape.commands._options import QuietOption


def merge(
    job: Annotated[
        Path,
        typer.Argument(metavar="JOB", help="The folder of the job.", show_default=False),
    ],
    dask: DaskOption = None,
    mpi: MpiOption = False,
    quiet: QuietOption = False,
) -> None:
    """Sum up all parts of a job once, and store the result in its folder.

    `show` and `advise` then do not read the parts again. Without options, processes on this machine
    read the parts. The result is the same with Dask and MPI.

    Example: `numascape merge run.numascape`

    Example: `srun -n 64 python -m mpi4py.futures -m numascape merge --mpi run.numascape`
    """
    from numascape.jobs.describe import describe_job
    from numascape.jobs.merged import write_merged

    analysed = open_analysed_job(job, dask, mpi, quiet, again=True)
    write_merged(analysed)
    if not quiet:
        for line in describe_job(analysed):
            terminal.say(line)
        terminal.say(f"stored the sums in {job}; look at them with:")
        terminal.suggest("show", str(job))
