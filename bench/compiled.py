# SPDX-License-Identifier: Apache-2.0
"""Compares the CPU time of recorded programs that numascape-cc built with that of clang's builds.

It also measures the additional time of compiling. Runs alternate, as in overhead.py.
"""

import statistics
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from bench.measure import CommandError, machine, run
from bench.observers import recorded_cost
from bench.programs import PROGRAMS, ROOT, Program
from bench.tables import ResultTable, publish

SCRIPTS = Path(sysconfig.get_path("scripts"))
BUILD = ROOT / "build" / "bench-compiled"
C = ("-O2", "-g", "-std=gnu11")
CXX = ("-O2", "-g", "-std=c++20")
OPENMP = ("-fopenmp", "-fcx-limited-range")
console = Console(stderr=True)


@dataclass(frozen=True)
class Build:
    """A program built by clang and by the wrapper, with the times of compilation."""

    native: Path
    counted: Path
    native_s: float
    counted_s: float


def source_of(program: Program) -> Path:
    name = program.path.name
    own = program.path.is_relative_to(ROOT / "examples")
    folders = [ROOT / "examples" / name if own else ROOT / "bench" / "kernels"]
    sources = [folder / f"{name}{suffix}" for folder in folders for suffix in (".c", ".cpp")]
    return next(source for source in sources if source.exists())


def build(program: Program, rounds: int) -> Build:
    source = source_of(program)
    cxx = source.suffix == ".cpp"
    options = [*(CXX if cxx else (*C, *OPENMP)), "-pthread", str(source), "-lm", "-o"]
    BUILD.mkdir(parents=True, exist_ok=True)
    native, counted = BUILD / f"{source.stem}-clang", BUILD / source.stem
    compilers = [
        ("clang++-19" if cxx else "clang-19"),
        str(SCRIPTS / f"numascape-c{'++' if cxx else 'c'}"),
    ]
    costs: list[list[float]] = [[], []]
    for _ in range(rounds):
        for compiler, target, values in zip(compilers, (native, counted), costs, strict=True):
            values.append(run([compiler, *options, str(target)]).cpu_s)
    return Build(native, counted, statistics.median(costs[0]), statistics.median(costs[1]))


def row_of(program: Program, rounds: int) -> list[str | float | None]:
    made = build(program, rounds)
    native: list[float] = []
    ratios: list[tuple[float, float]] = []
    for _ in range(rounds):
        native.append(run([str(made.native), *program.arguments]).cpu_s)
        command = [str(made.counted), *program.arguments]
        ratios.append((recorded_cost(command).cpu_s / native[-1], run(command).cpu_s / native[-1]))
    return [
        program.name,
        statistics.median(native),
        statistics.median(ratio for ratio, _ in ratios),
        statistics.median(ratio for _, ratio in ratios),
        made.native_s,
        made.counted_s / made.native_s,
    ]


def main(
    only: Annotated[list[str] | None, typer.Argument(help="Programs; by default all.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 5,
    write: Annotated[bool, typer.Option(help="Write bench/results/compiled.md and .json.")] = True,
) -> None:
    """Measure the compiled recorder, side by side with native runs."""
    rows: list[list[str | float | None]] = []
    try:
        for program in PROGRAMS:
            if not only or program.name.split()[0] in only:
                console.print(f"{program.name}: {rounds} rounds")
                rows.append(row_of(program, rounds))
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    measured = np.array([row[1:] for row in rows], dtype=float)
    means = np.exp(np.log(measured).mean(axis=0)).tolist()
    largest = measured.max(axis=0).tolist()
    rows.append(["geometric mean", None, means[1], means[2], None, means[4]])
    rows.append(["largest", None, largest[1], largest[2], None, largest[4]])
    table = ResultTable(
        "CPU time over clang's: the compiled recorder",
        ["program", "native s", "recorded", "not recorded", "compiling s", "compiling"],
        rows,
        f"Median of {rounds} rounds, native and counted runs alternating.",
    )
    publish("compiled", machine(), [table], write)


if __name__ == "__main__":
    typer.run(main)
