# SPDX-License-Identifier: Apache-2.0
"""Options of the verbs that take a job, and reading the job with an engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.jobs.engines import Engine
    from numascape.jobs.job import AnalysedJob
    from numascape.trace import Trace

DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask",
        "--dask-file",
        metavar="SCHEDULER",
        help="For a job: read its parts on the workers of this Dask scheduler: HOST:8786, or the "
        "file that `dask scheduler --scheduler-file` writes, FILE.json.",
        show_default=False,
    ),
]
MpiOption = Annotated[
    bool,
    typer.Option(
        "--mpi",
        help="For a job: read its parts with MPI, under `mpirun -n N python -m mpi4py.futures -m "
        "numascape`.",
    ),
]


def is_job(path: Path) -> bool:
    """Whether the argument of a verb is the folder of a job."""
    from numascape.trace import job

    return job.is_job(path)


def open_trace(path: Path) -> Trace:
    """The trace of a run, or all ranks of a job on one host as one trace."""
    from numascape.jobs.together import trace_of_job
    from numascape.trace import Trace

    return trace_of_job(path) if is_job(path) else Trace.read(path)


def open_analysed_job(
    path: Path, dask: str | None, mpi: bool, quiet: bool, again: bool = False
) -> AnalysedJob:
    """The analysed job, with a progress bar; `again`: do not use its merged tables."""
    from numascape.jobs.job import analyse_job
    from numascape.jobs.merged import open_job
    from numascape.trace.job import list_parts

    engine = engine_of(dask, mpi)
    total = len(list_parts(path)[0]) if path.is_dir() else 0
    finished = 0
    with terminal.amounts(quiet) as show:

        def done(parts: int) -> None:
            nonlocal finished
            finished += parts
            show("Reading parts", finished, total)

        return (analyse_job if again else open_job)(path, engine, done)


def refuse(path: Path, **options: object) -> None:
    """Raise NumascapeError if an option is given that only the trace of one rank has."""
    for name, value in options.items():
        if value:
            raise NumascapeError(
                f"--{name} needs the trace of one rank, but {path} is a job: give {path}/rank=0, "
                "or another rank"
            )


def engine_of(dask: str | None, mpi: bool) -> Engine | None:
    """The engine that the options name; None without one. Raises NumascapeError."""
    from numascape.jobs.engines import dask_engine, mpi_engine

    if dask is not None and mpi:
        raise NumascapeError("give either --dask or --mpi, not both")
    if dask is not None:
        return dask_engine(dask)
    return mpi_engine() if mpi else None
