# SPDX-License-Identifier: Apache-2.0
"""Measures how a recording's cost grows with threads, phases, allocations, memory and time.

Native and recorded runs alternate. The program says how many elements it incremented, and how many
blocks it allocated; the trace must say the same. The columns with the cost of each element show a
cost that grows faster than the program: such a column rises. Otherwise it stays flat, or falls
because a fixed cost is divided by more elements.
"""

import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter, StrMethodFormatter
from rich.console import Console

import numascape
from bench.measure import CommandError, Cost, machine, run
from bench.observers import NATIVE, record_command
from bench.programs import KERNELS, build
from bench.tables import RESULTS, ResultTable, print_table, write_results
from numascape.figures.drawing import save

PROGRAM = KERNELS / "scaling"
MEBIBYTE = 2.0**20
BLOCK = 64  # bytes of each allocated block
console = Console(stderr=True)


@dataclass(frozen=True)
class Curve:
    """The quantity that grows, and the structure whose accesses or blocks are counted.

    The counts of heap blocks include the allocator's own reads and writes, so the numbers of blocks
    are compared instead.
    """

    kind: str
    what: str
    values: tuple[int, ...]
    structure: str
    blocks: bool = False


CURVES = (
    Curve("threads", "threads at the same time", (1, 4, 16, 64, 256, 1024), "cells"),
    Curve("phases", "phases", (1, 10, 100, 1000, 10_000), "cells"),
    Curve("allocations", "blocks", (1_000, 10_000, 100_000, 1_000_000), "block", blocks=True),
    Curve("stacks", "call stacks that allocate", (100, 1_000, 10_000, 100_000), "block",
          blocks=True),
    Curve("memory", "MiB of addresses, a page in each", (100, 1_000, 10_000, 100_000), "sparse"),
    Curve("seconds", "seconds of CPU time, recorded", (1, 10, 100), "cells"),
)  # fmt: skip
COLUMNS = ("", "native, s", "recorded program, s", "rest of the command, s", "peak, MiB",
           "trace, MiB", "counts", "program, us each", "rest, us each")  # fmt: skip


@dataclass(frozen=True)
class Point:
    """One recording: costs of the program and of the whole command, and whether counts agree."""

    program_s: float
    command: Cost
    trace_bytes: int
    exact: bool


def recorded(curve: Curve, value: int) -> Point:
    with tempfile.TemporaryDirectory() as folder:
        trace, said = Path(folder) / "run.numascape", Path(folder) / "said"
        program = ["sh", "-c", f'exec "$0" "$@" >{said}', str(PROGRAM), curve.kind, str(value)]
        cost = run(record_command(trace, program))
        size = sum(file.stat().st_size for file in trace.rglob("*") if file.is_file())
        times = json.loads((trace / "trace.json").read_text())["times"]
        exact = counted(trace, curve) == (value if curve.blocks else int(said.read_text()))
    return Point(times["cpu_s"], cost, size, exact)


def counted(trace: Path, curve: Curve) -> int | None:
    """The blocks of the structure, or its reads; None if it has another number of writes."""
    opened = numascape.open(trace)
    found = opened.structures.filter(pl.col("name") == curve.structure)
    if curve.blocks:
        return int(found["size"].sum()) // BLOCK
    own = opened.accesses.join(found.select("structure"), on="structure", how="semi")
    reads, writes = int(own["reads"].sum()), int(own["writes"].sum())
    return reads if reads == writes else None


def curve_table(curve: Curve, largest: int, rounds: int) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for value in (value for value in curve.values if value <= largest):
        console.print(f"{value} {curve.what}: {rounds} rounds")
        native, points = [], []
        for _ in range(rounds):
            native.append(NATIVE.run([str(PROGRAM), curve.kind, str(value)]).cpu_s)
            points.append(recorded(curve, value))
        program = statistics.median(point.program_s for point in points)
        rest = statistics.median(point.command.cpu_s - point.program_s for point in points)
        before = statistics.median(native)
        rows.append([
            str(value), before, program, rest,
            statistics.median(point.command.peak_bytes for point in points) / MEBIBYTE,
            points[0].trace_bytes / MEBIBYTE,
            "exact" if all(point.exact for point in points) else "differ",
            1e6 * (program - before) / value, 1e6 * rest / value,
        ])  # fmt: skip
    return ResultTable(
        curve.what[0].upper() + curve.what[1:],
        COLUMNS,
        rows,
        f"CPU seconds; medians of {rounds} rounds, native and recorded alternating. The rest of "
        "the command: starting Numascape, converting. Peak: of the largest process. Each: what is "
        "added to the native time, and the rest, by the number in the first column.",
    )


def figure(tables: list[ResultTable]) -> Figure:
    """The recorded program's and the rest's CPU seconds over each number, on logarithmic axes."""
    drawn = Figure(figsize=(10, 6), layout="constrained")
    axes = drawn.subplots(2, 3, sharey=True).flat
    for ax, table in zip(axes, tables, strict=False):
        numbers = [float(row[0] or 0) for row in table.rows]
        for column, style in ((1, ":"), (2, "-"), (3, "--")):
            ax.loglog(numbers, [row[column] for row in table.rows], style, marker="o", markersize=3,
                      label=COLUMNS[column].removesuffix(", s"))  # fmt: skip
        ax.set_xlabel(table.title)
        ax.set_box_aspect(0.8)
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_formatter(NullFormatter())
        ax.grid(alpha=0.3)
    for ax in list(axes)[len(tables) :]:
        ax.set_visible(False)
    drawn.axes[0].set_ylabel("CPU time, s")
    lines, names = drawn.axes[0].get_legend_handles_labels()
    drawn.legend(lines, names, loc="outside upper center", ncols=len(names))
    return drawn


def main(
    only: Annotated[list[str] | None, typer.Argument(help="Kinds; by default all.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 3,
    largest: Annotated[int, typer.Option(min=1, help="Leave out larger numbers.")] = 10**9,
    write: Annotated[bool, typer.Option(help="Write bench/results/scaling.*.")] = True,
) -> None:
    """Measure how the cost of a recording grows."""
    load = os.getloadavg()[0]
    tables = []
    try:
        build()
        for curve in CURVES:
            if not only or curve.kind in only:
                tables.append(curve_table(curve, largest, rounds))
                print_table(tables[-1])
    except (CommandError, subprocess.CalledProcessError) as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    if write:
        about = {**machine(), "other_work": f"load average {load:.1f} before the first round"}
        for path in write_results("scaling", about, tables):
            console.print(f"wrote {path}")
        save(figure(tables), RESULTS / "scaling.png")


if __name__ == "__main__":
    typer.run(main)
