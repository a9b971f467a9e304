# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of a plan for a program that allocates.

It compares the program's CPU time in alternating runs with and without a plan. Between allocations,
a plan costs nothing, because the placer does not run at accesses.
"""

import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from bench.measure import machine
from bench.tables import ResultTable, publish
from numascape.plan import Plan, StructureRule
from numascape.plan.document import write_plan

console = Console(stderr=True)
KERNELS: Final = Path(__file__).parent / "kernels"
NUMASCAPE: Final = Path(sysconfig.get_path("scripts")) / "numascape"
OTHER, ABOUT = "another structure", "these blocks"
# Name, bytes, calls per pass, and live blocks.
CASES: Final = (
    ("64 B", 64, 2_000_000, 1),
    ("64 B, 1000 held", 64, 2_000_000, 1000),
    ("1 KiB, 1000 held", 1024, 2_000_000, 1000),
    ("4095 B, 1000 held", 4095, 1_000_000, 1000),
    ("64 KiB, 100 held", 1 << 16, 50_000, 100),
    ("1 MiB, 10 held", 1 << 20, 20_000, 10),
)


def compile_program(folder: Path) -> Path:
    program = folder / "allocations"
    source = KERNELS / "allocations.c"
    subprocess.run(["cc", "-O2", "-g", "-o", program, source], check=True)
    return program


def plans(folder: Path) -> dict[str, Path]:
    """The plans, by the memory that they place."""
    found = {}
    for about, name in ((OTHER, "other"), (ABOUT, "block")):
        found[about] = folder / f"{name}.toml"
        rule = StructureRule(name, "interleave", kind="heap", nodes=(0,))
        write_plan(Plan(structures=(rule,)), found[about])
    return found


def measured(command: list[str]) -> float:
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def table(rounds: int) -> ResultTable:
    rows: list[list[str | float | None]] = []
    with tempfile.TemporaryDirectory() as name:
        program = compile_program(Path(name))
        ways = {about: [str(NUMASCAPE), "run", "--plan", str(path), "--"]
                for about, path in plans(Path(name)).items()}  # fmt: skip
        for title, size, calls, blocks in CASES:
            console.print(title)
            words = [str(program), str(size), str(calls), str(blocks)]
            plain, other, about = [], [], []
            for _ in range(rounds):
                plain.append(measured(words))
                other.append(measured([*ways[OTHER], *words]))
                about.append(measured([*ways[ABOUT], *words]))
            added = statistics.median(b - a for a, b in zip(plain, other, strict=True))
            of_placed = statistics.median(about)
            rows.append([title, statistics.median(plain), statistics.median(other), added,
                         of_placed])  # fmt: skip
    return ResultTable(
        "One malloc and its free",
        [
            "size",
            "without a plan, ns",
            f"plan about {OTHER}, ns",
            "added, ns",
            f"plan about {ABOUT}, ns",
        ],
        rows,
        f"CPU time, medians of {rounds} rounds, each the shortest of nine passes. Blocks of a page "
        "and more have their call stack looked at; those that the plan is about become mappings of "
        "their own. Blocks are not touched.",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 5,
    write: Annotated[bool, typer.Option(help="Write bench/results/placer.md, .json.")] = True,
) -> None:
    """Measure allocations under a plan."""
    try:
        result = table(rounds)
    except subprocess.CalledProcessError as failure:
        console.print(f"{failure.cmd[0]}: status {failure.returncode}", markup=False)
        sys.exit(1)
    publish("placer", machine(), [result], write)


if __name__ == "__main__":
    typer.run(main)
