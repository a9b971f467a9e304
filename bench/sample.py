# SPDX-License-Identifier: Apache-2.0
"""Measures recordings of which only bursts are counted: their cost, and whether their errors hold.

Native and recorded runs of the same programs alternate. The CPU time of a recorded run contains
that of the process which records page faults. The binary recorder counts every access, and so gives
the exact accesses of each thread to each structure.
"""

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from bench.measure import CommandError, machine
from bench.observers import BARE_DYNAMORIO, NATIVE
from bench.programs import Also, Program, build, choose, threads_note
from bench.samples import cpu_s, recorded, structures
from bench.tables import ResultTable, publish
from numascape.trace import Trace
from numascape.trace.counting import counted_share, estimate_errors

DEALT_OUT_BY_TIME = ("bucketsort dynamic",)
"""Its threads have another part of the work in each run, so no exact run is comparable."""
LEAST_OF_STRUCTURE = 0.03
"""A thread with a smaller part of the accesses to its structure is not compared."""
console = Console(stderr=True)


@dataclass
class Estimated:
    """The results for a program.

    `cases` are pairs of |error| and stated error, as shares of the exact number. `held` are the
    costs that the recorder estimated, if it was to hold one, and `shares` those that it counted.
    """

    program: Program
    native_s: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    exact: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    cases: list[tuple[float, float]] = field(default_factory=list)


def compare(exact: Trace, sampled: Trace) -> list[tuple[float, float]]:
    """The error of an estimate, and the stated one, for each structure and thread."""
    found = []
    seen = structures(sampled)
    rows = estimate_errors(sampled, ["structure", "thread"]).iter_rows()
    estimates = {(structure, thread): row for structure, thread, *row in rows}
    accesses = exact.accesses
    for name, structure in structures(exact).items():
        own = accesses.filter(pl.col("structure") == structure)
        by_thread = own.group_by("thread").agg(n=(pl.col("reads") + pl.col("writes")).sum())
        whole = int(by_thread["n"].sum())
        for thread, number in by_thread.iter_rows():
            if name in seen and number >= LEAST_OF_STRUCTURE * whole:
                estimate, error = estimates.get((seen[name], thread), (0.0, 0.0))
                found.append((abs(estimate - number) / number, error / number))
    return found


def measure(program: Program, rounds: int, options: list[str]) -> Estimated:
    measured = Estimated(program)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        for _ in range(rounds):
            native_s = NATIVE.run(program.command()).cpu_s
            exact = recorded(program, Path(one), "binary")
            sampled = recorded(program, Path(other), "binary", options)
            measured.native_s.append(native_s)
            measured.bare.append(BARE_DYNAMORIO.run(program.command()).cpu_s / native_s)
            measured.ratios.append(cpu_s(sampled) / native_s)
            measured.exact.append(cpu_s(exact) / native_s)
            measured.shares.append(counted_share(sampled))
            if estimated_s := sampled.info.times.estimated_native_cpu_s:
                measured.held.append(cpu_s(sampled) / estimated_s)
            if program.name not in DEALT_OUT_BY_TIME:
                measured.cases += compare(exact, sampled)
    return measured


def _within(cases: Sequence[tuple[float, float]]) -> list[float | None]:
    """The number of cases, the share within their error in percent, and the median error."""
    if not cases:
        return [0.0, None, None]
    within = sum(error <= stated for error, stated in cases)
    middle = statistics.median(stated for _, stated in cases)
    return [float(len(cases)), 100 * within / len(cases), 100 * middle]


def table(measured: Sequence[Estimated], rounds: int, options: list[str]) -> ResultTable:
    rows: list[list[str | float | None]] = []
    medians = []
    holds = any(each.held for each in measured)
    for each in measured:
        ratios = [statistics.median(values) for values in (each.bare, each.ratios, each.exact)]
        medians.append(ratios)
        held = [statistics.median(each.held or [0.0]), 100 * statistics.median(each.shares)]
        native_s = statistics.median(each.native_s)
        rows.append(
            [each.program.name, native_s, *ratios, *(held if holds else ()), *_within(each.cases)]
        )
    means = [statistics.geometric_mean(column) for column in zip(*medians, strict=True)]
    cases = [case for each in measured for case in each.cases]
    nothing = [None, None] if holds else []
    rows.append(["geometric mean, all", None, *means, *nothing, *_within(cases)])
    of_cost = ["the recorder's estimate of this", "share of the work, %"] if holds else []
    return ResultTable(
        " ".join(options),
        [
            "program",
            "native CPU s",
            "bare DynamoRIO / native",
            "sampled / native",
            "exact / native",
            *of_cost,
            "estimates",
            "within the stated error, %",
            "median stated error, %",
        ],
        rows,
        f"Median of {rounds} rounds, native and recorded runs alternating; the start of the "
        "recorder is included. Estimates: the accesses of one thread to one structure with at "
        "least 3 % of the accesses, for each round; an exact run of the same round gives the true "
        f"number. The stated error has a confidence of 95 %. {threads_note()}"
        + (" The estimate is of the column sampled / native." if holds else ""),
    )


def main(
    only: Annotated[list[str] | None, typer.Argument(help="Programs; by default all.")] = None,
    also: Also = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each program.")] = 5,
    share: Annotated[list[float] | None, typer.Option(help="Shares of the work.")] = None,
    cost: Annotated[list[float] | None, typer.Option(help="Costs that are to be held.")] = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/sample.md and .json.")] = True,
) -> None:
    """Measure what counting a share of the work costs, and how often its stated errors hold."""
    tables = []
    programs = choose(only, also)
    shares = share if share or cost else [0.01, 0.1]
    ways = [["--sample", f"{each:g}"] for each in shares or []]
    ways += [["--sample", "auto", "--cost", f"{each:g}"] for each in cost or []]
    try:
        build()
        for options in ways:
            measured = []
            for program in programs:
                console.print(f"{program.name}: {rounds} rounds, {' '.join(options)}")
                measured.append(measure(program, rounds, options))
            tables.append(table(measured, rounds, options))
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("sample", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
