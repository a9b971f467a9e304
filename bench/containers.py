# SPDX-License-Identifier: Apache-2.0
"""Compares the CPU time of loops over segmented vectors with a plain loop over a std::vector.

All variants of a kernel run in turn in each round, in one process, and the programs of both
compilers take turns, too, so that other load on the machine affects all of them. A ratio is the
median over the rounds. A plain loop is compiled by the same compiler as the loops that are compared
with it.
"""

import re
import statistics
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import machine
from bench.programs import KERNELS, ROOT
from bench.tables import ResultTable, publish

SOURCE = ROOT / "bench" / "kernels" / "segments.cpp"
SMALL = ROOT / "bench" / "kernels" / "small_vectors.cpp"
FLAGS = ("-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra", "-pthread")
NAMES = ("triad", "sum", "transform", "in place", "axpy", "stencil")
COMPILERS = {"GCC": "g++", "Clang": "clang++-19"}
TURNS = 3  # of each program, which share its rounds
PLAIN = "std::vector"
console = Console(stderr=True)

Times = dict[tuple[str, str], list[float]]


@dataclass(frozen=True)
class Size:
    """The number of elements of each array, and the cache or memory that holds them."""

    elements: int
    place: str
    fraction: float = 1.0  # of the rounds


SIZES = (Size(1 << 14, "in cache"), Size(1 << 24, "in memory", 0.5))


def compile_kernels(compiler: str, boost: Path | None, source: Path = SOURCE) -> Path:
    KERNELS.mkdir(parents=True, exist_ok=True)
    program = KERNELS / f"{source.stem}-{compiler}"
    options = ["-DBOOST", "-isystem", str(boost)] if boost is not None else []
    command = [compiler, *FLAGS, f"-I{ROOT / 'include'}", *options, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def measured(programs: dict[str, Path], size: Size, rounds: int, page: str) -> dict[str, Times]:
    """Nanoseconds per element of each round, by compiler, kernel and way."""
    times: dict[str, Times] = {name: defaultdict(list) for name in programs}
    some = max(1, int(rounds * size.fraction / TURNS))
    for name, program in [*programs.items()] * TURNS:
        command = [str(program), str(size.elements), str(some), page]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for line in output.splitlines():
            kernel, way, value = line.split(",")
            times[name][kernel, way].append(float(value))
    return times


def ratio(times: Times, kernel: str, way: str) -> float | None:
    """Median of the rounds' ratios to the plain loop."""
    if (kernel, way) not in times:
        return None
    pairs = zip(times[kernel, way], times[kernel, PLAIN], strict=True)
    return statistics.median(value / plain for value, plain in pairs)


def boost_note(boost: Path | None) -> str:
    """The version of Boost that was measured; empty without Boost."""
    if boost is None:
        return ""
    text = (boost / "boost" / "version.hpp").read_text()
    version = re.search(r'BOOST_LIB_VERSION "([\d_]+)"', text)
    number = version[1].replace("_", ".") if version else "of unknown version"
    return f" Boost.Container's segmented algorithms are those of Boost {number}."


def tables_of(
    programs: dict[str, Path], size: Size, rounds: int, boost: Path | None
) -> list[ResultTable]:
    console.print(f"{size.elements} elements: {rounds} rounds")
    base = measured(programs, size, rounds, "4K")
    huge = measured(programs, size, rounds, "2M")
    kernels: list[list[str | float | None]] = []
    loops: list[list[str | float | None]] = []
    for name in programs:
        kernels += [
            [
                f"{kernel}, {name}",
                statistics.median(base[name][kernel, PLAIN]),
                ratio(base[name], kernel, "hierarchical"),
                ratio(huge[name], kernel, "hierarchical"),
                ratio(base[name], kernel, "naive ++"),
                ratio(base[name], kernel, "Boost"),
            ]
            for kernel in NAMES
        ]
        loops.append(
            [
                name,
                ratio(base[name], "index", "v[i]"),
                ratio(base[name], "index", "for_each_span"),
                ratio(base[name], "index", "numa_vector v[i]"),
                ratio(base[name], "standard", "iterators"),
                ratio(base[name], "standard", "numa_vector"),
            ]
        )
    place = f"{size.place}: {size.elements} elements"
    columns = ["std::vector, ns per element", "hierarchical", "hierarchical, 2 MiB pages"]
    return [
        ResultTable(
            place,
            ["kernel", *columns, "naive ++", "Boost"],
            kernels,
            "Beside the first, columns are CPU time over that of the plain loop over a "
            "std::vector: below 1 is faster. Four segments; one thread. The machine was busy with "
            "other programs. The plain loop over a sum adds in order, each addition after the one "
            "before; reduce may add in any order, as std::reduce." + boost_note(boost),
        ),
        ResultTable(
            f"loops by index, and standard algorithms, {place}",
            ["", "v[i]", "for_each_span", "numa_vector, v[i]", "std::transform",
             "numa_vector, std::transform"],
            loops,
            "x[i] = y[i] / 2 + 1 in two ways, over the same with std::vector. The columns without "
            "numa_vector are a segmented_vector; for these loops, use for_each_span instead.",
        ),
    ]  # fmt: skip


def small_vectors(programs: dict[str, Path], rounds: int) -> ResultTable:
    """The cost of getting memory for 100 doubles, and of starting work on them."""
    times: dict[str, dict[str, list[float]]] = {}
    for name, program in [*programs.items()] * TURNS:
        command = [str(program), str(max(1, rounds // TURNS))]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for line in output.splitlines():
            what, _, value = line.rpartition(",")
            times.setdefault(what, defaultdict(list))[name].append(float(value))
    return ResultTable(
        "100 doubles",
        ["", *(f"{name}, us" for name in programs)],
        [
            [what, *(statistics.median(by_compiler[name]) for name in programs)]
            for what, by_compiler in times.items()
        ],
        "CPU time of the calling thread: of making and freeing a vector, and of a call.",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 15,
    boost: Annotated[
        Path | None,
        typer.Option(
            help="Folder with boost/container/experimental/segmented_transform.hpp (Boost 1.91 or "
            "newer; Debian 12 has 1.81)."
        ),
    ] = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/containers.md, .json.")] = True,
) -> None:
    """Measure loops over segmented vectors against the plain loop over a std::vector."""
    try:
        programs = {name: compile_kernels(compiler, boost) for name, compiler in COMPILERS.items()}
        tables = [one for size in SIZES for one in tables_of(programs, size, rounds, boost)]
        small = {name: compile_kernels(one, None, SMALL) for name, one in COMPILERS.items()}
        tables.append(small_vectors(small, rounds))
    except subprocess.CalledProcessError as failure:
        console.print(f"{failure.cmd[0]}: status {failure.returncode}", markup=False)
        raise typer.Exit(1) from None
    publish("containers", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
