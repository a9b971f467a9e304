# SPDX-License-Identifier: Apache-2.0
"""The verb `show`."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._jobs import DaskOption, MpiOption, is_job, open_analysed_job, refuse
from numascape.commands._options import PhaseOption, StructureOption, TraceArgument

if TYPE_CHECKING:
    import polars as pl

    from numascape.jobs.job import AnalysedJob
    from numascape.trace import Trace


def show(
    trace: TraceArgument,
    structure: StructureOption = None,
    phase: PhaseOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print all rows, also those with few accesses.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows as JSON.")] = False,
    dask: DaskOption = None,
    mpi: MpiOption = False,
) -> None:
    """Print a trace: the run, its findings, its structures, and which threads use which pages.

    Column share: the structure's share of all accesses. Column threads: how many threads access it;
    "1r 4w" means that one reads and four write it. Column first: the thread that touched most of
    its pages first, and so determined their node. Column where: its declaration or allocation. A
    strip shows the pages from first to last, and the thread or node that uses each part most.

    For a job, it prints classes of ranks with the same behaviour, outliers, and the structures of
    all ranks.

    Example: `numascape show run.numascape --structure A`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.console.overview import print_overview
    from numascape.console.structure import print_structure
    from numascape.trace import Trace
    from numascape.trace.counting import TraceOfTouches
    from numascape.trace.phase import TraceOfPhase
    from numascape.trace.selection import find_phase, find_structure
    from numascape.trace.summary import structure_summary

    if is_job(trace):
        refuse(trace, structure=structure, phase=phase)
        _show_job(open_analysed_job(trace, dask, mpi, quiet=as_json), every=every, as_json=as_json)
        return
    whole = Trace.read(trace)
    opened = whole if as_json else TraceOfTouches.of(whole)
    chosen = None if structure is None else find_structure(opened, structure)
    if phase is not None:
        opened = TraceOfPhase.of(opened, find_phase(opened, phase), run_touches=True)
    if as_json:
        print(json.dumps(_as_plain_data(opened, structure_summary(opened), chosen), indent=1))
    elif chosen is not None:
        print_structure(terminal.output(), opened, chosen, every=every)
    else:
        conclusions = _conclusions(whole) if phase is None else []
        summary = structure_summary(opened)
        print_overview(terminal.output(), opened, summary, conclusions, every=every)


def _conclusions(trace: Trace) -> list[str]:
    """The findings of `advise` in a few lines."""
    from numascape.analysis.source_files import readable_sources
    from numascape.console.findings import conclusions
    from numascape.findings import examine, findings_of

    run = examine(trace, None, readable_sources(trace.info, None))
    return conclusions(run, findings_of(run), str(trace.path))


def _show_job(job: AnalysedJob, *, every: bool, as_json: bool) -> None:
    from numascape.console.job import print_job
    from numascape.jobs.document import job_document

    if as_json:
        print(json.dumps(job_document(job), indent=1))
    else:
        print_job(terminal.output(), job, every=every)


def _as_plain_data(trace: Trace, summary: pl.DataFrame, structure: int | None) -> dict[str, object]:
    shown = summary if structure is None else summary.filter(summary["structure"] == structure)
    data: dict[str, object] = {
        "run": dataclasses.asdict(trace.info),
        "structures": shown.to_dicts(),
    }
    for name in ("phases", "source_lines"):
        table = trace.table(name)
        if structure is not None and "structure" in table.columns:
            table = table.filter(table["structure"] == structure)
        data[name] = table.to_dicts()
    return data
