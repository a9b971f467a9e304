# SPDX-License-Identifier: Apache-2.0
"""Measures the CPU time that phases add to a recording.

The kernel touches 100 MB in each of 100 phases. Recordings with and without phases alternate; a
ratio is the median over the rounds.
"""

import statistics
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import CommandError, machine
from bench.observers import recorded_cost
from bench.programs import KERNELS, build
from bench.tables import ResultTable, publish

PHASES = 100
console = Console(stderr=True)

# The name of the case, the kernel's DISTINCT (plus 1), and options instead of `--phases none`.
CASES: list[tuple[str, int, list[str]]] = [
    ("one parallel region, 100 times", 1, ["--phases", "regions"]),
    ("100 marks, each a phase of its own", 2, ["--phases", "marks"]),
    ("slices of 0.1 s", 1, ["--every", "0.1"]),
]


def phases_seconds(distinct: int, options: list[str]) -> float:
    """CPU seconds of the recorded process."""
    program = [str(KERNELS / "phases"), str(distinct), str(PHASES + 1)]
    return recorded_cost(program, options).cpu_s


def phases_table(rounds: int) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for name, distinct, options in CASES:
        console.print(f"{name}: {rounds} rounds")
        without, ratios = [], []
        for _ in range(rounds):
            without.append(phases_seconds(distinct, ["--phases", "none"]))
            ratios.append(phases_seconds(distinct, options) / without[-1])
        rows.append([name, statistics.median(without), statistics.median(ratios)])
    return ResultTable(
        "CPU time with phases over without",
        ["phases", "without, s", "with / without"],
        rows,
        f"Median of {rounds} rounds, recordings with and without phases alternating. Each phase "
        "reads 100 MB and writes half of it, once.",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 7,
    write: Annotated[bool, typer.Option(help="Write bench/results/phases.md and .json.")] = True,
) -> None:
    """Measure what recording phases costs."""
    try:
        build()
        table = phases_table(rounds)
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("phases", machine(), [table], write)


if __name__ == "__main__":
    typer.run(main)
