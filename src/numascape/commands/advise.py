# SPDX-License-Identifier: Apache-2.0
"""The verb `advise`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._jobs import (
    DaskOption,
    MpiOption,
    is_job,
    open_analysed_job,
    open_trace,
    refuse,
)
from numascape.commands._options import GainMachineOption, TraceArgument
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.findings.finding import Finding
    from numascape.jobs.job import AnalysedJob
    from numascape.machine import Machine
    from numascape.trace import Trace


def advise(
    trace: TraceArgument,
    machine: GainMachineOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PLAN",
            help="Write a plan (TOML) that places threads and pages, for `numascape run --plan`.",
            show_default=False,
        ),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(
            "--sarif",
            metavar="FILE",
            help="Write the findings as SARIF, which code hosts show at the source line.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Also print the evidence, and all structures without a problem."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    dask: DaskOption = None,
    mpi: MpiOption = False,
) -> None:
    """Print the NUMA problems of a recorded program, their causes, and how to fix them.

    The finding with the largest gain is first. If the machine has several nodes, the gain is the
    predicted share of the run time that the fix saves. Otherwise it is the share of accesses that
    could become local.

    For a job, each finding is printed once, with the number of ranks that have it, and the worst
    rank.

    Example: `numascape advise run.numascape --machine numa16 -o plan.toml`
    """
    from numascape.analysis.source_files import readable_sources
    from numascape.console.findings import print_findings
    from numascape.findings import examine, findings_of
    from numascape.findings.verdict import verdict
    from numascape.machine.sources import open_machine
    from numascape.trace.counting import check_knows_threads, only_touches

    if is_job(trace) and machine is None:
        refuse(trace, output=output, sarif=sarif, all=every)
        _advise_job(open_analysed_job(trace, dask, mpi, quiet=as_json), as_json=as_json)
        return
    if is_job(trace):
        refuse(trace, output=output, sarif=sarif)
    opened = open_trace(trace)
    if output is not None and only_touches(opened):
        raise NumascapeError(
            f"cannot make a plan from {trace}: it has only first touches, no accesses; "
            "record without --recorder faults"
        )
    if output is not None:
        check_knows_threads(opened, "a plan")
    target = None if machine is None else open_machine(machine)
    with terminal.working("Examining"):
        run = examine(opened, target, readable_sources(opened.info, None))
        found = findings_of(run)
    if as_json:
        print(json.dumps(_as_plain_data(opened, target, found, verdict(run, found)), indent=1))
    else:
        print_findings(terminal.output(), run, found, every=every)
    if output is not None:
        _write_plan(opened, target, output)
    if sarif is not None:
        _write_sarif(opened, found, sarif)


def _advise_job(job: AnalysedJob, *, as_json: bool) -> None:
    from numascape.console.job_findings import print_job_findings
    from numascape.jobs.document import findings_document

    if as_json:
        print(json.dumps(findings_document(job), indent=1))
    else:
        print_job_findings(terminal.output(), job)


def _write_plan(trace: Trace, machine: Machine | None, output: Path) -> None:
    from numascape.placement.planning import make_plan
    from numascape.plan.document import write_plan

    target = machine or trace.info.machine
    plan = make_plan(trace, target)
    write_plan(plan, output)
    empty = f": an empty plan, because {_why_empty(target)}" if plan.says_nothing else ""
    terminal.say(f"wrote {output}{empty}")


def _write_sarif(trace: Trace, found: list[Finding], file: Path) -> None:
    from numascape.atomic import replacing_file
    from numascape.exchange.sarif import sarif_log

    log = json.dumps(sarif_log(trace, found, Path.cwd()), indent=1)
    try:
        with replacing_file(file) as beside:
            beside.write_text(log, encoding="utf-8")
    except OSError as error:
        raise NumascapeError(f"cannot write {file}: {error.strerror or error}") from error
    terminal.say(f"wrote {file}")


def _why_empty(machine: Machine) -> str:
    if len(machine.nodes) < 2:
        return f"{machine.name} has one node (name another machine with --machine)"
    return "no other placement is predicted to be faster"


def _as_plain_data(
    trace: Trace, machine: Machine | None, found: list[Finding], conclusion: str
) -> dict[str, object]:
    from numascape.findings import not_judged

    return {
        "trace": str(trace.path),
        "machine": (machine or trace.info.machine).name,
        "counts": trace.info.recorder.counts,
        "not_judged": [kind.value for kind in not_judged(trace)],
        "verdict": conclusion,
        "findings": [_finding_as_data(finding) for finding in found],
    }


def _finding_as_data(finding: Finding) -> dict[str, object]:
    """The finding with all fixes; `gain` and `remedy` are those of the advised one."""
    gain = finding.gain
    return {
        **dataclasses.asdict(finding),
        "to_do": finding.to_do,
        "advice": finding.advice,
        "remedy": finding.remedy,
        "gain": None if gain is None else dataclasses.asdict(gain),
    }
