# SPDX-License-Identifier: Apache-2.0
"""The verb `record`."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._options import ProgramArgument, output_to
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.recorders.record import RecordOutcome


class Phases(str, Enum):
    """What begins a phase."""

    ALL = "all"
    REGIONS = "regions"
    MARKS = "marks"
    NONE = "none"


class RecorderName(str, Enum):
    """The ways of observing."""

    BINARY = "binary"
    COMPILED = "compiled"
    FAULTS = "faults"
    SAMPLES = "samples"


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
        int | None,
        typer.Option(
            min=1,
            help="Attach to this running process instead of running a program.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="With --pid: how long to stay attached.", show_default=False),
    ] = None,
    stack: Annotated[
        bool,
        typer.Option(
            "--stack/--no-stack",
            help="Count accesses relative to the stack pointer, or not (less overhead).",
        ),
    ] = True,
    lines: Annotated[
        bool,
        typer.Option(
            "--lines/--no-lines",
            help="Record which source lines access which structure, or not (less overhead).",
        ),
    ] = True,
    phases: Annotated[
        Phases | None,
        typer.Option(
            help="What begins a phase: parallel regions of OpenMP, marks in the program "
            "(numascape/phase.h), both, or nothing.",
            show_default="all",
        ),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Make each time slice of this length a phase.",
            show_default=False,
        ),
    ] = None,
    recorder: Annotated[
        RecorderName | None,
        typer.Option(
            help="binary: any executable. compiled: a program that numascape-cc, numascape-c++ or "
            "numascape-fc built (faster). faults: first touches only, at about 1 % overhead. "
            "samples: the processor's samples of accesses, and first touches. "
            "Default: compiled if possible, else binary.",
            show_default=False,
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT",
            help="With --recorder samples: mem-loads, mem-stores (Intel), ibs_op (AMD), or "
            "page-faults. Default: all of this processor.",
            show_default=False,
        ),
    ] = None,
    traffic: Annotated[
        bool,
        typer.Option(
            "--traffic",
            help="Also count the cache lines that each thread fetches from memory and writes back, "
            "with a model of its cache (2 to 4 times the CPU time).",
        ),
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE,WAYS,LINE",
            help="With --traffic: the cache of each thread. Default: its share of this machine's.",
            show_default=False,
        ),
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
) -> None:
    """Run a program and record which thread reads and writes which page of its memory.

    The program can be any executable and needs no change. Compile it with `-g`, so that structures
    have names. The program has its usual output, input, terminal and exit status.

    In a job, put `numascape record` between the launcher and the program. Each rank then writes its
    own part.

    Example: `numascape record -o run.numascape -- ./program 1000`

    Example: `mpirun -n 4 numascape record -o run.numascape -- ./program 1000`
    """
    _check(program, pid, seconds)
    if every is not None and phases is not None:
        raise NumascapeError("--every and --phases cannot be used together")
    if measure_cost and pid is not None:
        raise NumascapeError(
            "--measure-cost runs the program twice, so it cannot be used with --pid"
        )
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.recorders.record import RecordRequest, start_untouched
    from numascape.recorders.record import record as run_recorder
    from numascape.recording.job_place import records
    from numascape.recording.launchers import find_launch
    from numascape.recording.options import RecordOptions, choose_cache

    options = RecordOptions(
        recorder=recorder.value if recorder is not None else None,
        stack=stack,
        lines=lines,
        phases=(phases or Phases.ALL).value,
        every_s=every,
        cache=choose_cache(traffic, cache),
        event=event,
    )
    launch = find_launch(os.environ) if pid is None else None
    if launch is not None and launch.size != 1 and measure_cost:
        raise NumascapeError(
            "--measure-cost runs the program twice, so it cannot be used in a job: run the job "
            "twice yourself and compare the times"
        )
    request = RecordRequest(
        program or [], output, options, pid, seconds, measure_cost, launch, ranks
    )
    if not records(launch, ranks):
        start_untouched(request)
    outcome = run_recorder(request, _ignore if quiet else terminal.say)
    if outcome.job is not None and outcome.rank is not None:
        from numascape.jobs.stored_sums import store_sums

        store_sums(outcome.job, outcome.rank)
    if not quiet:
        _report_outcome(outcome)
    if outcome.signal is not None:
        raise typer.Exit(128 + outcome.signal)
    raise typer.Exit(outcome.exit_status)


def _check(program: list[str] | None, pid: int | None, seconds: float | None) -> None:
    if pid is None and not program:
        raise NumascapeError("no program given: use numascape record -- PROGRAM, or --pid PID")
    if pid is not None and program:
        raise NumascapeError("give either a program or --pid, not both")
    if seconds is not None and pid is None:
        raise NumascapeError("--seconds needs --pid: a program is recorded until it ends")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise NumascapeError(f"--seconds {seconds:g}: must be more than 0")


def _ignore(_: str) -> None:
    pass


def _report_outcome(outcome: RecordOutcome) -> None:
    """Print what the trace contains, and the next command; in a job, only one rank does it."""
    from numascape.analysis.run_description import describe_run
    from numascape.trace import Trace
    from numascape.trace.job import first_recorded

    trace = Trace.read(outcome.trace)
    part = trace.info.part
    if part is None:
        for line in describe_run(trace):
            terminal.say(line)
        terminal.say(f"wrote {outcome.trace}; look at it with:")
        terminal.suggest("report", str(outcome.trace))
    elif part.rank == first_recorded(part.recorded):
        terminal.say(f"rank {part.rank}: wrote {outcome.trace}; when all ranks have ended:")
        terminal.suggest("show", str(outcome.job))
