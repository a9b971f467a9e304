# SPDX-License-Identifier: Apache-2.0
"""Options and checks that the verbs which show two traces share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape.commands._jobs import open_trace
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.comparison import Comparison
    from numascape.trace import Trace

OtherTraceArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="TRACE2", help="A second trace, to compare with the first one.", show_default=False
    ),
]


def open_pair(
    first: Path, second: Path, machines: list[str] | None
) -> tuple[Comparison, tuple[Trace, Trace]]:
    """Two traces compared, and what is shown of them: on a machine, if one is given."""
    from numascape.comparison import compare_traces
    from numascape.machine.sources import open_machine
    from numascape.report import on_machine

    if machines and len(machines) > 1:
        raise NumascapeError("two traces are shown on one machine: give --machine once")
    traces = open_trace(first), open_trace(second)
    if not machines:
        return compare_traces(*traces), traces
    target = open_machine(machines[0])
    shown = on_machine(traces[0], target), on_machine(traces[1], target)
    return compare_traces(*traces, target, shown), shown


def refuse_engines(dask: str | None, mpi: bool) -> None:
    """Raise NumascapeError if the engine of a job is given with two traces."""
    if dask is not None or mpi:
        raise NumascapeError(
            f"{'--mpi' if mpi else '--dask'} reads the parts of one job: give one TRACE, or leave "
            "the option out"
        )
