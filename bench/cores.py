# SPDX-License-Identifier: Apache-2.0
"""Measures how recordings, and algorithms on segmented vectors, scale with CPUs.

The work is the same for each number of threads. Native and recorded runs alternate. If a recorder
makes threads wait for each other, its ratios grow with the number of threads. The benchmark needs a
machine with as many CPUs as threads.
"""

import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

import numascape
from bench.measure import CommandError, machine
from bench.observers import COMMAND, record_command
from bench.programs import ROOT
from bench.tables import ResultTable, publish
from numascape.recording.options import RecorderName

BUILD = ROOT / "build" / "bench-cores"
SOURCE = ROOT / "bench" / "kernels" / "cores.c"
WORKERS = ROOT / "bench" / "kernels" / "workers.cpp"
KINDS = {
    "bands": "each thread increments its own part of 64 MiB",
    "gather": "all threads read 64 MiB at random places",
    "histogram": "all threads increment 1 MiB at random places, atomically",
    "blocks": "all threads allocate and free blocks",
    "regions": "40 000 parallel loops over 32 KiB",
}
console = Console(stderr=True)


@dataclass(frozen=True)
class Way:
    """A recorder with its options, the program that it records, and the one to compare with."""

    name: str
    recorder: RecorderName
    options: tuple[str, ...]
    program: str
    native: str


WAYS = (
    Way("binary", "binary", (), "cores-gcc", "cores-gcc"),
    Way("binary, --traffic", "binary", ("--traffic",), "cores-gcc", "cores-gcc"),
    Way("compiled", "compiled", (), "cores-counted", "cores-clang"),
    Way("faults", "faults", (), "cores-gcc", "cores-gcc"),
)
COUNTING = {"binary", "compiled"}


def build() -> None:
    """Build the kernels. Raises CalledProcessError when a compiler fails."""
    BUILD.mkdir(parents=True, exist_ok=True)
    c = ["-O2", "-g", "-std=gnu11", "-fopenmp", str(SOURCE), "-o"]
    compilers = {
        "cores-gcc": "gcc",
        "cores-clang": "clang-19",
        "cores-counted": str(COMMAND.parent / "numascape-cc"),
    }
    for name, compiler in compilers.items():
        subprocess.run([compiler, *c, str(BUILD / name)], check=True)
    cxx = ["-O3", "-std=c++20", "-fopenmp", f"-I{ROOT / 'include'}", str(WORKERS), "-o"]
    subprocess.run(["g++", *cxx, str(BUILD / "workers")], check=True)


def output_of(command: list[str], threads: int) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandError(
            f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-500:]}{done.stdout}"
        )
    return done.stdout


def native(program: str, kind: str, threads: int) -> float:
    """The seconds that the work takes."""
    return float(output_of([str(BUILD / program), kind], threads).split()[0])


def recorded(way: Way, kind: str, threads: int) -> tuple[float, bool]:
    """Seconds of the recorded work, and whether the counts are those that the program expects."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "run.numascape"
        command = record_command(trace, [str(BUILD / way.program), kind], way.recorder, way.options)
        seconds, reads, writes = output_of(command, threads).split()
        if way.recorder not in COUNTING:
            return float(seconds), True
        opened = numascape.open(trace)
        cells = opened.structures.filter(pl.col("name") == "cells")
        own = opened.accesses.join(cells.select("structure"), on="structure", how="semi")
        counted = (int(own["reads"].sum()), int(own["writes"].sum()))
        return float(seconds), counted == (int(reads), int(writes))


def recorder_table(kind: str, numbers: list[int], rounds: int) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for threads in numbers:
        console.print(f"{kind}, {threads} threads: {rounds} rounds")
        alone: list[float] = []
        ratios: dict[str, list[float]] = defaultdict(list)
        exact = True
        for _ in range(rounds):
            before = {
                name: native(name, kind, threads) for name in dict.fromkeys(w.native for w in WAYS)
            }
            alone.append(before[WAYS[0].native])
            for way in WAYS:
                seconds, right = recorded(way, kind, threads)
                ratios[way.name].append(seconds / before[way.native])
                exact = exact and right
        found = [statistics.median(ratios[way.name]) for way in WAYS]
        rows.append(
            [str(threads), statistics.median(alone), *found, "exact" if exact else "differ"]
        )
    return ResultTable(
        f"{kind}: {KINDS[kind]}",
        ["threads", "native, s", *(way.name for way in WAYS), "counts"],
        rows,
        f"Wall time of the work; medians of {rounds} rounds, native and recorded alternating. The "
        "columns of recorders: recorded over native.",
    )


def worker_table(numbers: list[int], rounds: int) -> ResultTable:
    """Wall times of parallel algorithms, in a process that may use this number of CPUs."""
    allowed = sorted(os.sched_getaffinity(0))
    times: dict[int, dict[tuple[str, str], list[float]]] = {}
    for cpus in numbers:
        console.print(f"algorithms, {cpus} CPUs: {rounds} rounds")
        output = subprocess.run(
            [str(BUILD / "workers"), str(rounds)],
            check=True, capture_output=True, text=True,
            preexec_fn=partial(os.sched_setaffinity, 0, allowed[:cpus]),
        ).stdout  # fmt: skip
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for line in output.splitlines():
            kernel, way, value = line.split(",")
            found[kernel, way].append(float(value))
        times[cpus] = found
    rows: list[list[str | float | None]] = []
    for kernel in dict.fromkeys(kernel for kernel, _ in times[numbers[0]]):
        for way in ("segmented", "OpenMP"):
            values = [statistics.median(times[cpus][kernel, way]) for cpus in numbers]
            rows.append([f"{kernel}, {way}", *values, values[0] / values[-1]])
    return ResultTable(
        "Algorithms on 32 Mi doubles, a segment per node",
        ["", *(f"{cpus} CPU{'s' * (cpus > 1)}, ms" for cpus in numbers), "first / last"],
        rows,
        f"Wall time; medians of {rounds} rounds. Segmented: numascape's parallel algorithms with "
        "node_threads and the default layout, one worker per CPU. OpenMP: loops on a std::vector, "
        "and GNU's parallel sort.",
    )


def main(
    only: Annotated[
        list[str] | None, typer.Argument(help="Kinds of work, or workers; by default all.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 3,
    compiled: Annotated[
        bool, typer.Option(help="Compile the kernels first; with --no-compiled, they are there.")
    ] = True,
    write: Annotated[bool, typer.Option(help="Write bench/results/cores.md and .json.")] = True,
) -> None:
    """Measure how recordings and parallel algorithms scale with CPUs."""
    cpus = len(os.sched_getaffinity(0))
    numbers = [2**power for power in range(cpus.bit_length())]
    tables = []
    try:
        if compiled:
            build()
        if not only or "workers" in only:
            tables.append(worker_table(numbers, rounds))
        tables += [
            recorder_table(kind, numbers, rounds) for kind in KINDS if not only or kind in only
        ]
    except (CommandError, subprocess.CalledProcessError) as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("cores", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
