# SPDX-License-Identifier: Apache-2.0
"""The verb `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._jobs import DaskOption, MpiOption, is_job, open_analysed_job, refuse
from numascape.commands._options import QuietOption, ShownMachinesOption, TraceArgument, output_to
from numascape.commands._pairs import OtherTraceArgument, open_pair, refuse_engines
from numascape.commands._written import say_written

if TYPE_CHECKING:
    from numascape.jobs.job import AnalysedJob


def report(
    trace: TraceArgument,
    other: OtherTraceArgument = None,
    output: Annotated[
        Path | None, output_to("The file to write. Default: the name of the trace with .html.")
    ] = None,
    source: Annotated[
        bool | None,
        typer.Option(
            "--source/--no-source",
            help="Show source text, or not. Default: only if the trace was recorded on this "
            "system.",
            show_default=False,
        ),
    ] = None,
    machine: ShownMachinesOption = None,
    dask: DaskOption = None,
    mpi: MpiOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a report: which thread uses which memory page, and which thread touched it first.

    The report is one HTML file of at most 5 MB. It needs no network and no server. Open it in a
    browser, or send it to a colleague.

    For a job, it shows classes of ranks that do the same, outliers, and what each rank does to each
    structure. It also contains the pages of typical ranks and of outliers.

    For two traces, it shows both side by side and their difference, as `numascape compare` prints
    it, and the report of each.

    Example: `numascape report run.numascape --machine numa16`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.report import draft, readable_sources, render, shown_and_others
    from numascape.trace import Trace

    file = output or _file_of(trace, other)
    if other is not None:
        refuse_engines(dask, mpi)
        _report_two(trace, other, file, machine, source, quiet=quiet)
        return
    if is_job(trace):
        refuse(trace, machine=machine)
        _report_job(open_analysed_job(trace, dask, mpi, quiet), file, source, quiet=quiet)
        return
    shown, others = shown_and_others(Trace.read(trace), machine or ())
    files = readable_sources(shown.info, source)
    with terminal.amounts(quiet) as show:
        started = draft(
            shown, files, others=others, progress=lambda *steps: show("Examining", *steps)
        )
    size = render(started, file)
    if not quiet:
        say_written(file, size)


def _file_of(trace: Path, other: Path | None) -> Path:
    """The name of the trace, or the names of both, as an HTML file in the current folder."""
    names = [path.resolve().stem for path in (trace, other) if path is not None]
    return Path(f"{'-'.join(names)}.html")


def _report_two(
    trace: Path,
    other: Path,
    file: Path,
    machines: list[str] | None,
    source: bool | None,
    *,
    quiet: bool,
) -> None:
    from numascape.comparison.page import render_comparison

    comparison, shown = open_pair(trace, other, machines)
    size = render_comparison(comparison, shown, file, source)
    if not quiet:
        say_written(file, size)


def _report_job(job: AnalysedJob, file: Path, source: bool | None, *, quiet: bool) -> None:
    from numascape.quantities import ranges_text
    from numascape.report.job_file import render_job

    size, own = render_job(job, file, source)
    if not quiet:
        say_written(file, size, f", with the pages of {ranges_text(own, 'rank')}")
