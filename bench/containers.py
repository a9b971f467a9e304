# SPDX-License-Identifier: Apache-2.0
"""CPU time of loops over segmented vectors, next to the plain loop over a std::vector.

All variants of a kernel run in turn in each round, in one process, so that other load on the
machine affects all of them. A ratio is the median over the rounds.
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
from bench.tables import ResultTable, print_table, write_results

SOURCE = ROOT / "bench" / "kernels" / "segments.cpp"
FLAGS = ("-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra", "-pthread")
NAMES = ("triad", "sum", "transform", "stencil")
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


def compile_kernels(boost: Path | None) -> Path:
    KERNELS.mkdir(parents=True, exist_ok=True)
    program = KERNELS / "segments"
    options = ["-DBOOST", "-isystem", str(boost)] if boost is not None else []
    command = ["g++", *FLAGS, f"-I{ROOT / 'include'}", *options, str(SOURCE), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def measured(program: Path, size: Size, rounds: int, page: str) -> Times:
    """Nanoseconds per element of each round, by kernel and way."""
    command = [str(program), str(size.elements), str(max(1, int(rounds * size.fraction))), page]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    times: Times = defaultdict(list)
    for line in output.splitlines():
        kernel, way, value = line.split(",")
        times[kernel, way].append(float(value))
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


def table(program: Path, size: Size, rounds: int, boost: Path | None) -> ResultTable:
    console.print(f"{size.elements} elements: {rounds} rounds")
    base = measured(program, size, rounds, "4K")
    huge = measured(program, size, rounds, "2M")
    rows: list[list[str | float | None]] = [
        [
            kernel,
            statistics.median(base[kernel, PLAIN]),
            ratio(base, kernel, "hierarchical"),
            ratio(huge, kernel, "hierarchical"),
            ratio(base, kernel, "naive ++"),
            ratio(base, kernel, "Boost"),
        ]
        for kernel in NAMES
    ]
    return ResultTable(
        f"{size.place}: {size.elements} elements",
        [
            "kernel",
            "std::vector, ns per element",
            "hierarchical",
            "hierarchical, 2 MiB pages",
            "naive ++",
            "Boost",
        ],
        rows,
        "Beside the first, columns are CPU time over that of the plain loop over a std::vector: "
        "below 1 is faster. Four segments; one thread. The plain loop over a sum adds in order, "
        "each addition after the one before; reduce may add in any order, as std::reduce."
        + boost_note(boost),
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
        program = compile_kernels(boost)
        tables = [table(program, size, rounds, boost) for size in SIZES]
    except subprocess.CalledProcessError as failure:
        console.print(f"{failure.cmd[0]}: status {failure.returncode}", markup=False)
        raise typer.Exit(1) from None
    for result in tables:
        print_table(result)
    if write:
        for path in write_results("containers", machine(), tables):
            console.print(f"wrote {path}")


if __name__ == "__main__":
    typer.run(main)
