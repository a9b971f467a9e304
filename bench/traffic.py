# SPDX-License-Identifier: Apache-2.0
"""Measures the CPU time that `--traffic` adds to a recording, and checks the counted lines.

Recordings with and without `--traffic` alternate; a ratio is the median over the rounds. The lines
are compared with the last-level misses of cachegrind, with one thread and caches of equal size.
"""

import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import numascape
from bench.measure import CommandError, machine, run
from bench.observers import record_command, recorded_cost
from bench.programs import EXAMPLES, KERNELS, Also, Program, build, choose, threads_note
from bench.tables import ResultTable, publish

CACHE = "2M,8,64"  # what a core of a server has
COMPARED_KIB = 128
console = Console(stderr=True)

# The sizes exceed this cache. The grid of `block` has two rows, and therefore two threads.
COMPARED: list[list[str | Path]] = [
    [EXAMPLES / "matmul", "-n", "160", "-t", "1", "naive"],
    [EXAMPLES / "matmul", "-n", "160", "-t", "2", "block"],
    [EXAMPLES / "bucketsort", "-n", "16", "-m", "14", "-t", "1", "dynamic"],
    [EXAMPLES / "bucketsort", "-n", "16", "-m", "14", "-t", "1", "halves"],
    [EXAMPLES / "seismic", "-n", "28", "-s", "4", "-t", "1", "serial"],
    [EXAMPLES / "seismic", "-n", "28", "-s", "4", "-t", "1", "parallel"],
    [KERNELS / "spmv", "10000", "5"],
    [KERNELS / "fft", "14", "2"],
    [KERNELS / "pointer_chase", "8192", "10"],
]


def recorded(program: list[str], options: list[str], folder: str) -> Path:
    trace = Path(folder) / "run.numascape"
    run(record_command(trace, program, options=options))
    return trace


def cost_table(programs: list[Program], rounds: int) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for program in programs:
        console.print(f"{program.name}: {rounds} rounds")
        without, ratios = [], []
        for _ in range(rounds):
            without.append(recorded_cost(program.command()).cpu_s)
            counted = recorded_cost(program.command(), ["--traffic", "--cache", CACHE])
            ratios.append(counted.cpu_s / without[-1])
        rows.append([program.name, statistics.median(without), statistics.median(ratios)])
    ratios = [float(row[2] or 0) for row in rows]
    rows.append(["geometric mean", None, statistics.geometric_mean(ratios)])
    rows.append(["largest", None, max(ratios)])
    return ResultTable(
        "CPU time with --traffic over without",
        ["program", "without, s", "with / without"],
        rows,
        f"Median of {rounds} rounds, alternating; each thread has a cache of {CACHE}. "
        f"{threads_note()}",
    )


def cachegrind_misses(command: list[str]) -> int:
    options = [
        *("--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"),
        *("--I1=32768,8,64", "--D1=32768,8,64", f"--LL={COMPARED_KIB * 1024},8,64"),
    ]
    finished = subprocess.run(
        ["valgrind", *options, *command], capture_output=True, text=True, check=True
    )
    found = re.search(r"LLd misses: +([\d,]+)", finished.stderr)
    if found is None:
        raise CommandError(f"cachegrind says nothing of misses: {finished.stderr[-300:]}")
    return int(found[1].replace(",", ""))


def lines_table() -> ResultTable:
    os.environ["OMP_NUM_THREADS"] = "1"
    rows: list[list[str | float | None]] = []
    for words in COMPARED:
        command = [str(word) for word in words]
        name = " ".join([Path(command[0]).name, *command[1:]])
        console.print(f"{name}: cachegrind")
        misses = cachegrind_misses(command)
        with tempfile.TemporaryDirectory() as folder:
            options = ["--traffic", "--cache", f"{COMPARED_KIB}K,8,64"]
            lines = numascape.open(recorded(command, options, folder)).accesses["memory_lines"]
            rows.append([name, misses, int(lines.sum()), int(lines.sum()) / misses])
    return ResultTable(
        "Lines from memory next to cachegrind's last-level misses",
        ["program", "cachegrind: DLmr + DLmw", "numascape: memory_lines", "ratio"],
        rows,
        f"One thread (matmul block: two), a last level of {COMPARED_KIB} KiB, 8 ways, 64 bytes.",
    )


def main(
    only: Annotated[list[str] | None, typer.Argument(help="Programs; by default all.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 5,
    lines: Annotated[bool, typer.Option(help="Also compare with cachegrind.")] = True,
    also: Also = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/traffic.md and .json.")] = True,
) -> None:
    """Measure what counting memory traffic costs, and compare it with cachegrind's."""
    programs = choose(only, also)
    try:
        build()
        tables = [cost_table(programs, rounds)]
        if lines:
            tables.append(lines_table())
    except (CommandError, subprocess.CalledProcessError) as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("traffic", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
