# SPDX-License-Identifier: Apache-2.0
"""Compares the CPU time of recorded programs with their native one, and with other observers.

Native and observed runs alternate, so that other load on the machine affects both. A ratio is the
median over the rounds.
"""

import os
import statistics
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer
from rich.console import Console

import numascape
from bench.measure import CommandError, machine, peak_memory, run
from bench.observers import (
    CACHEGRIND,
    LACKEY,
    NATIVE,
    NUMASCAPE,
    Observer,
    fast_observers,
    numascape_command,
    record_command,
    recorded_cost,
)
from bench.programs import Also, Program, build, choose, threads_note
from bench.tables import ResultTable, publish

PAGE = 4096
console = Console(stderr=True)


def median_ratios(program: Program, observers: list[Observer], rounds: int) -> list[float]:
    """Native CPU seconds, then each observer's CPU time over it: medians of `rounds` rounds."""
    native: list[float] = []
    over: list[list[float]] = [[] for _ in observers]
    for _ in range(rounds):
        native.append(NATIVE.run(program.command()).cpu_s)
        for observer, values in zip(observers, over, strict=True):
            values.append(observer.run(program.command()).cpu_s / native[-1])
    return [statistics.median(native), *map(statistics.median, over)]


def overhead_table(programs: list[Program], rounds: int) -> ResultTable:
    observers = fast_observers()
    rows: list[list[str | float | None]] = []
    for program in programs:
        console.print(f"{program.name}: {rounds} rounds")
        rows.append([program.name, *median_ratios(program, observers, rounds)])
    measured = np.array([row[1:] for row in rows], dtype=float)
    means = np.exp(np.log(measured).mean(axis=0)).tolist()
    rows.append(["geometric mean", None, *means[1:]])
    rows.append(["largest", None, *measured.max(axis=0).tolist()[1:]])
    return ResultTable(
        "CPU time over native",
        ["program", "native s", *(o.name for o in observers)],
        rows,
        f"Median of {rounds} rounds, native and observed runs alternating. {threads_note()}",
    )


def versions_table(programs: list[Program], rounds: int, other: Path, commit: str) -> ResultTable:
    """This version's recorder beside the one of another installation, in the same rounds."""
    before = Observer("before", partial(recorded_cost, numascape=other))
    rows: list[list[str | float | None]] = []
    for program in programs:
        console.print(f"{program.name}: {rounds} rounds")
        costs = [
            [observer.run(program.command()).cpu_s for observer in (NATIVE, NUMASCAPE, before)]
            for _ in range(rounds)
        ]
        native, ours, theirs = np.array(costs).T
        measured = [ours / native, theirs / native, ours / theirs]
        rows.append([program.name, *(float(np.median(each)) for each in [native, *measured])])
    means = np.exp(np.log(np.array([row[2:] for row in rows], dtype=float)).mean(axis=0)).tolist()
    rows.append(["geometric mean", None, *means])
    return ResultTable(
        f"CPU time over native, beside that of commit {commit}",
        ["program", "native s", "now", "before", "now over before"],
        rows,
        f"Median of {rounds} rounds; native runs and both recorders alternate. The load was "
        f"{os.getloadavg()[0]:.0f} at the end. {threads_note()}",
    )


def cpu_without_start(observer: Observer, program: Program, runs: int) -> float:
    """Median CPU seconds at the reduced size, minus those of observing /bin/true."""
    costs = [observer.run(program.command(reduced=True)).cpu_s for _ in range(runs)]
    starts = [observer.run(["/bin/true"]).cpu_s for _ in range(runs)]
    return max(statistics.median(costs) - statistics.median(starts), 1e-6)


def slow_table(programs: list[Program]) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for program in programs:
        console.print(f"{program.name}: cachegrind and lackey")
        ratio = None
        if program.reduced is not None:
            native = cpu_without_start(NATIVE, program, 15)
            ratio = cpu_without_start(LACKEY, program, 1) / native
        rows.append([program.name, median_ratios(program, [CACHEGRIND], 1)[1], ratio])
    return ResultTable(
        "CPU time over native of Valgrind's observers",
        ["program", CACHEGRIND.name, LACKEY.name],
        rows,
        "One round. cachegrind at full size; lackey at sizes reduced to some milliseconds, its "
        "start subtracted, its trace thrown away.",
    )


def start_table(rounds: int) -> ResultTable:
    """The cost of recording a program that does nothing."""
    names = ["native", "numascape: recorded process", "numascape: whole command"]
    runs = [run, NUMASCAPE.run, numascape_command]
    rows: list[list[str | float | None]] = []
    for name, observe in zip(names, runs, strict=True):
        costs = [observe(["/bin/true"]) for _ in range(rounds)]
        cpu = statistics.median(cost.cpu_s for cost in costs)
        rows.append([name, cpu, statistics.median(cost.wall_s for cost in costs)])
    return ResultTable("Start-up: /bin/true", ["", "CPU s", "wall s"], rows)


def memory_row(program: Program) -> list[str | float | None]:
    """The additional peak memory of recorded runs, compared with the limit of 0.5 % and 64 MB."""
    native = peak_memory(program.command(), below=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.numascape"
        recorded = peak_memory(record_command(path, program.command()), below=True)
        pages = numascape.open(path).accesses.select("structure", "instance", "page", "thread")
    thread_pages = pages.n_unique()
    touched = pages.select(pl.exclude("thread")).n_unique()
    mebibyte = 2.0**20
    return [
        program.name,
        touched * PAGE / mebibyte,
        thread_pages * PAGE / mebibyte,
        native / mebibyte,
        (recorded - native) / mebibyte,
        64e6 / mebibyte + 0.005 * thread_pages * PAGE / mebibyte,
    ]


def memory_table(programs: list[Program]) -> ResultTable:
    rows = [memory_row(program) for program in programs]
    return ResultTable(
        "Memory of the recorder, MiB",
        ["program", "touched", "touched by each thread, sum", "native", "recorder", "allowed"],
        rows,
        "Resident set and page tables at their peak, recorded minus native. Allowed: 64 MB and "
        "0.5 % of the memory that each thread touched.",
    )


def main(
    only: Annotated[list[str] | None, typer.Argument(help="Programs; by default all.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 5,
    slow: Annotated[bool, typer.Option(help="Also cachegrind and lackey (minutes).")] = True,
    memory: Annotated[bool, typer.Option(help="Also the recorder's memory.")] = True,
    against: Annotated[
        Path | None, typer.Option(help="The command `numascape` of another clone, to compare with.")
    ] = None,
    also: Also = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/overhead.md and .json.")] = True,
) -> None:
    """Measure what recording costs, side by side with native runs and other observers."""
    programs = choose(only, also)
    try:
        build()
        if against is not None:
            clone = ["git", "-C", str(against.parent), "rev-parse", "--short", "HEAD"]
            commit = subprocess.run(clone, capture_output=True, text=True, check=True).stdout
            table = versions_table(programs, rounds, against.absolute(), commit.strip())
            publish("overhead-versions", machine(), [table], write)
            return
        tables = [overhead_table(programs, rounds), start_table(rounds)]
        if memory:
            tables.append(memory_table(programs))
        if slow:
            tables.append(slow_table(programs))
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("overhead", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
