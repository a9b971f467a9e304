# SPDX-License-Identifier: Apache-2.0
"""The verb `record`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape.commands._options import ProgramArgument, output_to
from numascape.commands._recording import AskedRecording, record_as_asked
from numascape.recording.options import PhaseKind, RecorderName


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
        PhaseKind | None,
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
            "samples: samples of accesses, and first touches, at about 1.2 times the CPU time. "
            "damon: with --pid, which memory is used, but not by which thread (root). "
            "Default: compiled if possible, else binary.",
            show_default=False,
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT",
            help="With --recorder samples: mem-loads, mem-stores (Intel), ibs_op (AMD), "
            "task-clock (every machine), or page-faults. Default: all of this processor, or "
            "task-clock if it has none.",
            show_default=False,
        ),
    ] = None,
    frequency: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --recorder samples: how many samples in a second of CPU time. "
            "Default: 1000; of the clock of a running process, 250, or 100 without privileges.",
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
            help="With --traffic: the cache of each thread. Default: the thread's share of the "
            "caches of this machine.",
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
    asked = AskedRecording(
        program=program or [],
        output=output,
        ranks=ranks,
        pid=pid,
        seconds=seconds,
        stack=stack,
        lines=lines,
        phases=phases,
        every=every,
        recorder=recorder,
        event=event,
        frequency=frequency,
        traffic=traffic,
        cache=cache,
        measure_cost=measure_cost,
        quiet=quiet,
    )
    raise typer.Exit(record_as_asked(asked))
