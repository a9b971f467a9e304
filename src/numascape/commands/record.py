# SPDX-License-Identifier: Apache-2.0
"""The verb `record`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._options import ProgramArgument, output_to
from numascape.errors import NumascapeError


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


_SHORTEST_S = 0.01


def record(
    program: ProgramArgument = None,
    output: Annotated[
        Path | None,
        output_to(
            "The trace to write; by default PROGRAM.numascape in the current folder.",
            metavar="TRACE",
        ),
    ] = None,
    pid: Annotated[
        int | None,
        typer.Option(min=1, help="Attach to this running process instead.", show_default=False),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="How long to stay attached, with --pid.", show_default=False),
    ] = None,
    stack: Annotated[
        bool,
        typer.Option(
            "--stack/--no-stack",
            help="Count accesses relative to the stack pointer, or leave them out (cheaper).",
        ),
    ] = True,
    lines: Annotated[
        bool,
        typer.Option(
            "--lines/--no-lines",
            help="Find out which source lines read and write which structure, or not (cheaper).",
        ),
    ] = True,
    phases: Annotated[
        Phases | None,
        typer.Option(
            help="What begins a phase: OpenMP's parallel regions, the program's own marks "
            "(numascape/phase.h), all of these, or nothing.",
            show_default="all",
        ),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Make each time slice a phase instead.", show_default=False
        ),
    ] = None,
    recorder: Annotated[
        RecorderName | None,
        typer.Option(
            help="How to observe: any executable; one built by numascape-cc, numascape-c++ or "
            "numascape-fc (faster); or only who touches pages first (costs nothing). By default "
            "the best of the first two.",
            show_default=False,
        ),
    ] = None,
    traffic: Annotated[
        bool,
        typer.Option(
            "--traffic",
            help="Count also the cache lines that each thread fetches from memory and writes back, "
            "by a model of its cache (about twice as dear).",
        ),
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE,WAYS,LINE",
            help="The cache of each thread, with --traffic; by default its part of this machine's.",
            show_default=False,
        ),
    ] = None,
    measure_cost: Annotated[
        bool,
        typer.Option(
            "--measure-cost",
            help="Run the program once without recording before, to tell what recording costs.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors and warnings.")
    ] = False,
) -> None:
    """Run a program and record which thread reads and writes which page of its memory.

    The program is any executable, unchanged; build it with `-g` to see its structures by their
    names. Its output, input, terminal and exit status are as without Numascape.

    Example: `numascape record -o run.numascape -- ./program 1000`
    """
    _check(program, pid, seconds)
    _check_phases(phases, every)
    if measure_cost and pid is not None:
        raise NumascapeError("--measure-cost runs the program before: it cannot go with --pid")
    if cache is not None and not traffic:
        raise NumascapeError("--cache goes with --traffic: only that models a cache")
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.recorders.modelled_cache import cache_of_this_host, parse_cache
    from numascape.recorders.record import RecordRequest
    from numascape.recorders.record import record as run_recorder

    modelled = None
    if traffic:
        modelled = parse_cache(cache) if cache is not None else cache_of_this_host()
    request = RecordRequest(
        program=program or [],
        output=output,
        pid=pid,
        seconds=seconds,
        stack=stack,
        lines=lines,
        quiet=quiet,
        phases=(phases or Phases.ALL).value,
        every_s=every,
        recorder=recorder.value if recorder is not None else None,
        cache=modelled,
        measure_cost=measure_cost,
    )
    outcome = run_recorder(request, _ignore if quiet else terminal.say)
    if not quiet:
        _report_outcome(outcome.trace)
    if outcome.signal is not None:
        raise typer.Exit(128 + outcome.signal)
    raise typer.Exit(outcome.exit_status)


def _check(program: list[str] | None, pid: int | None, seconds: float | None) -> None:
    if pid is None and not program:
        raise NumascapeError("record what? name a program after --, or a process with --pid")
    if pid is not None and program:
        raise NumascapeError("record either a program or, with --pid, a process; not both")
    if seconds is not None and pid is None:
        raise NumascapeError("--seconds goes with --pid; a program is recorded until it ends")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise NumascapeError(f"--seconds {seconds:g} is no time to stay attached: use more than 0")


def _check_phases(phases: Phases | None, every: float | None) -> None:
    if every is None:
        return
    if phases is not None:
        raise NumascapeError("--every makes the phases itself: leave out --phases, or --every")
    if not _SHORTEST_S <= every < float("inf"):
        raise NumascapeError(
            f"--every {every:g} is no length of a phase: use {_SHORTEST_S} or more"
        )


def _ignore(_: str) -> None:
    pass


def _report_outcome(path: Path) -> None:
    """Say what the trace holds and what to type next."""
    from numascape.trace import Trace
    from numascape.trace.description import describe_run

    for line in describe_run(Trace.read(path)):
        terminal.say(line)
    terminal.say(f"wrote {path}; look at it with:")
    terminal.suggest("report", str(path))
