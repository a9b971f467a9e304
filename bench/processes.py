# SPDX-License-Identifier: Apache-2.0
"""Measures the CPU time that recording adds to threads and processes that begin and end.

The program runs natively and recorded, alternately; a time is the median over the rounds. It is
that of the whole command: starting Numascape, the program, and converting the recording.
"""

import os
import statistics
import subprocess
import sysconfig
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import CommandError, machine
from bench.observers import NATIVE, Observer, numascape_command
from bench.programs import KERNELS, ROOT, build
from bench.tables import ResultTable, publish

COMPILED = KERNELS / "processes-compiled"
RECORDERS = ("binary", "compiled", "faults")
console = Console(stderr=True)

# The kind of thread or process, how often it begins, and how many run at a time.
CASES: list[tuple[str, int, int]] = [
    ("threads", 20_000, 1),
    ("threads", 20_000, 4),
    ("threads", 1_100, 1_100),
    ("forks", 200, 1),
    ("executed", 50, 1),
]


def build_compiled() -> None:
    compiler = Path(sysconfig.get_path("scripts")) / "numascape-cc"
    source = ROOT / "bench" / "kernels" / "processes.c"
    command = [str(compiler), "-O2", "-g", "-pthread", "-o", str(COMPILED), str(source)]
    subprocess.run(command, check=True)


def medians(
    programs: Sequence[tuple[Observer, Path]], arguments: list[str], rounds: int
) -> list[float]:
    """CPU seconds of each program, run one after the other in each round."""
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(rounds):
        for index, (observer, program) in enumerate(programs):
            times[index].append(observer.run([str(program), *arguments]).cpu_s)
    return [statistics.median(each) for each in times]


def processes_table(rounds: int) -> ResultTable:
    binary = KERNELS / "processes"
    load = os.getloadavg()[0]
    programs = [(NATIVE, binary)] + [
        (Observer(name, partial(numascape_command, recorder=name)),
         COMPILED if name == "compiled" else binary)
        for name in RECORDERS
    ]  # fmt: skip
    rows: list[list[str | float | None]] = []
    nothing = medians(programs, ["work", "1", "1"], rounds)
    for kind, count, at_once in CASES:
        name = f"{count} {kind}, {at_once} at a time"
        console.print(f"{name}: {rounds} rounds")
        times = medians(programs, [kind, str(count), str(at_once)], rounds)
        each = [1000 * (time - start) / count for time, start in zip(times, nothing, strict=True)]
        rows.append([name, *times, *each[1:]])
    return ResultTable(
        "CPU time of threads and processes that begin and end",
        [
            "program",
            "native, s",
            *(f"{name}, s" for name in RECORDERS),
            *(f"{name}, ms each" for name in RECORDERS),
        ],
        rows,
        f"Median of {rounds} rounds, native and all recorders alternating, on a machine with a "
        f"load of {load:.0f} at the beginning and {os.getloadavg()[0]:.0f} at the end. Each thread "
        "or process writes one page of its stack; `executed` is a fork that executes the program "
        "again. A time is that of the whole command. The time of each is what is above a run that "
        f"starts none ({', '.join(f'{t:.2f}' for t in nothing[1:])} s).",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 5,
    write: Annotated[bool, typer.Option(help="Write bench/results/processes.md and .json.")] = True,
) -> None:
    """Measure what recording threads and processes costs."""
    try:
        build()
        build_compiled()
        table = processes_table(rounds)
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("processes", machine(), [table], write)


if __name__ == "__main__":
    typer.run(main)
