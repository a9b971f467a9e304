# SPDX-License-Identifier: Apache-2.0
"""Measures how long `show`, `advise`, `predict` and `report` take, for runs that touched 3 GB.

The traces are those of tests/synthetic.
"""

import os
import statistics
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import machine, run
from bench.synthetic_traces import SyntheticTrace
from bench.tables import ResultTable, publish

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from synthetic.patterns import naive_matmul, seismic
from synthetic.write import write_pattern

console = Console(stderr=True)
NUMASCAPE = Path(sysconfig.get_path("scripts")) / "numascape"
TARGET = "xeon-x7550"


CASES = (
    SyntheticTrace("small: matmul, 4 threads, 384 pages", lambda: naive_matmul(256, 4)),
    SyntheticTrace("stencil, 8 threads, 10 fields, 3.1 GB", lambda: seismic(76_800, 8)),
    SyntheticTrace("matmul, 8 threads, 3 matrices, 3.2 GB", lambda: naive_matmul(11_520, 8)),
)


def commands(trace: Path) -> dict[str, list[str]]:
    """The measured command lines by their names."""
    named, page = str(trace), str(trace.with_suffix(".html"))
    return {
        "show": ["show", named],
        "advise": ["advise", named],
        f"advise -m {TARGET}": ["advise", named, "-m", TARGET],
        f"predict -m {TARGET}": ["predict", named, "-m", TARGET],
        "report": ["report", named, "-o", page],
        f"report -m {TARGET}": ["report", named, "-m", TARGET, "-o", page],
    }


def rows_of(
    case: SyntheticTrace, folder: Path, rounds: int, versions: list[Path]
) -> list[list[str | float]]:
    """A row for each command: its median wall time and CPU time with each version, in turn."""
    trace = write_pattern(case.pattern(), folder / "run.numascape").path
    rows: list[list[str | float]] = []
    for name, arguments in commands(trace).items():
        costs = [[run([str(one), *arguments]) for one in versions] for _ in range(rounds)]
        row: list[str | float] = [case.name, name]
        for each in zip(*costs, strict=True):
            row.append(statistics.median(cost.wall_s for cost in each))
            row.append(statistics.median(cost.cpu_s for cost in each))
        rows.append(row)
        console.print(*row)
    return rows


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 3,
    against: Annotated[
        Path | None, typer.Option(help="The command numascape of another version.")
    ] = None,
    case: Annotated[str, typer.Option(help="Only cases whose name contains this.")] = "",
    write: Annotated[bool, typer.Option(help="Write bench/results/answers.md and .json.")] = True,
) -> None:
    """Measure how long it takes to get answers about a trace."""
    load = os.getloadavg()[0]
    versions = [NUMASCAPE, *([against] if against else [])]
    rows = []
    for chosen in CASES:
        if case in chosen.name:
            with tempfile.TemporaryDirectory() as folder:
                rows += rows_of(chosen, Path(folder), rounds, versions)
    other = ["other: wall s", "other: CPU s"] if against else []
    table = ResultTable(
        "Answers",
        ["trace", "command", "wall s", "CPU s", *other],
        rows,
        f"Whole commands; medians of {rounds} rounds.",
    )
    about = {**machine(), "other_work": f"load average {load:.1f} before the first round"}
    publish("answers", about, [table], write)


if __name__ == "__main__":
    typer.run(main)
