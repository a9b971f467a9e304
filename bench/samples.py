# SPDX-License-Identifier: Apache-2.0
"""Measures samples of the clock: their cost, and whether their errors are as stated.

Native and sampled runs of the same programs alternate. The CPU time of a sampled run contains that
of the process that takes the samples. The binary recorder counts every access, and so gives the
exact share of each thread in each structure.
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

import numascape
from bench.measure import CommandError, machine, run
from bench.observers import NATIVE, record_command
from bench.programs import PROGRAMS, Program, build
from bench.tables import ResultTable, publish
from numascape.trace import Trace
from numascape.trace.counting import structure_error

SHARE = 0.03
"""Structures with fewer of the exact accesses, or of the samples, are not compared."""
console = Console(stderr=True)


@dataclass
class Measured:
    """The results for a program; `cases` are pairs of |error| and stated error."""

    program: Program
    native_s: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    exact_ratio: float = 0.0
    cases: list[tuple[float, float]] = field(default_factory=list)


def recorded(program: Program, folder: Path, recorder: str, options: Sequence[str] = ()) -> Trace:
    trace = folder / f"{recorder}.numascape"
    words = record_command(trace, program.command(), recorder)
    where = words.index("--")
    run([*words[:where], *options, *words[where:]])
    return numascape.open(trace)


def structures(trace: Trace) -> dict[str, int]:
    """The structures that are worth a comparison, by name; none whose name is not unique."""
    counts = trace.accesses.group_by("structure").agg(n=(pl.col("reads") + pl.col("writes")).sum())
    large = counts.filter(pl.col("n") >= SHARE * pl.col("n").sum())
    named = trace.structures.filter("named").join(large, on="structure")
    return dict(named.unique("name", keep="none").select("name", "structure").iter_rows())


def threads_of(trace: Trace, structure: int) -> dict[int, float]:
    """The share of each thread in the accesses to a structure."""
    own = trace.accesses.filter(pl.col("structure") == structure)
    counts = own.group_by("thread").agg(n=(pl.col("reads") + pl.col("writes")).sum())
    whole = counts["n"].sum()
    return {thread: n / whole for thread, n in counts.iter_rows()}


def compare(exact: Trace, sampled: Trace) -> list[tuple[float, float]]:
    """The error of the share of samples, and the stated error, for each structure and thread.

    Threads have the same numbers in both, because the programs create them in a fixed order.
    """
    found = []
    seen = structures(sampled)
    for name, structure in structures(exact).items():
        if name not in seen:
            continue
        error = structure_error(sampled, seen[name])
        true, estimated = threads_of(exact, structure), threads_of(sampled, seen[name])
        if len(true) > 1:
            found += [(abs(true[t] - estimated.get(t, 0.0)), error) for t in true]
    return found


def cpu_s(trace: Trace) -> float:
    assert trace.info.times.cpu_s is not None
    return trace.info.times.cpu_s


def measure(program: Program, rounds: int, frequency: int) -> Measured:
    measured = Measured(program)
    options = ["--event", "task-clock", "--frequency", str(frequency)]
    with tempfile.TemporaryDirectory() as folder:
        exact = recorded(program, Path(folder), "binary")
        for _ in range(rounds):
            native_s = NATIVE.run(program.command()).cpu_s
            sampled = recorded(program, Path(folder), "samples", options)
            info = sampled.info
            measured.native_s.append(native_s)
            measured.ratios.append(cpu_s(sampled) / native_s)
            measured.samples.append(info.totals.reads + info.totals.writes)
            measured.cases += compare(exact, sampled)
        measured.exact_ratio = cpu_s(exact) / statistics.median(measured.native_s)
    return measured


def table(measured: Sequence[Measured], rounds: int, frequency: int) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for each in measured:
        within = sum(error <= stated for error, stated in each.cases)
        rows.append(
            [
                each.program.name,
                statistics.median(each.native_s),
                statistics.median(each.ratios),
                each.exact_ratio,
                float(statistics.median(each.samples)),
                float(len(each.cases)),
                100 * within / len(each.cases) if each.cases else None,
            ]
        )
    cases = [case for each in measured for case in each.cases]
    within = sum(error <= stated for error, stated in cases)
    ratios = [statistics.median(each.ratios) for each in measured]
    exact = [each.exact_ratio for each in measured]
    rows.append(
        [
            "geometric mean, all",
            None,
            statistics.geometric_mean(ratios),
            statistics.geometric_mean(exact),
            None,
            float(len(cases)),
            100 * within / len(cases),
        ]
    )
    return ResultTable(
        f"{frequency} samples in a second of CPU time",
        [
            "program",
            "native CPU s",
            "sampled / native",
            "exact / native",
            "samples",
            "shares",
            "within the stated error, %",
        ],
        rows,
        f"Median of {rounds} rounds; exact: one run of the binary recorder. The time of a "
        "sampled run contains that of the process which takes the samples. Shares: one for each "
        f"thread of each named structure with at least {100 * SHARE:.0f} % of the accesses and of "
        "the samples. The stated error has a confidence of 95 %.",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each program.")] = 5,
    frequency: Annotated[list[int] | None, typer.Option(help="Samples per second.")] = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/samples.md and .json.")] = True,
) -> None:
    """Measure what samples of the clock cost, and how often their stated errors hold."""
    tables = []
    try:
        build()
        for each in frequency or [1000, 10_000]:
            measured = []
            for program in PROGRAMS:
                console.print(f"{program.name}: {rounds} rounds, {each} samples per second")
                measured.append(measure(program, rounds, each))
            tables.append(table(measured, rounds, each))
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("samples", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
