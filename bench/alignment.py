# SPDX-License-Identifier: Apache-2.0
"""Measures what recording costs if accesses are not aligned.

A loop reads or writes words of 8 bytes. Native runs and recordings, at each offset, alternate.
"""

import statistics
from typing import Annotated, Final

import typer
from rich.console import Console

from bench.measure import CommandError, machine, run
from bench.observers import recorded_cost
from bench.programs import KERNELS, build
from bench.tables import ResultTable, publish

console = Console(stderr=True)
OFFSETS: Final = (0, 1, 12)
"""Bytes; the others are compared with 0."""


def measured(writes: bool, rounds: int) -> dict[int, tuple[float, float]]:
    """The median CPU seconds of native and of recorded runs, by offset."""
    native: dict[int, list[float]] = {offset: [] for offset in OFFSETS}
    recorded: dict[int, list[float]] = {offset: [] for offset in OFFSETS}
    for _ in range(rounds):
        for offset in OFFSETS:
            program = [str(KERNELS / "alignment"), str(offset + 1), str(int(writes) + 1)]
            native[offset].append(run(program).cpu_s)
            recorded[offset].append(recorded_cost(program).cpu_s)
    return {
        offset: (statistics.median(native[offset]), statistics.median(recorded[offset]))
        for offset in OFFSETS
    }


def alignment_table(rounds: int) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for writes, name in ((False, "reads"), (True, "writes")):
        console.print(f"{name}: {rounds} rounds")
        medians = measured(writes, rounds)
        for offset, (native, recorded) in medians.items():
            ratios = (recorded / native, recorded / medians[0][1])
            rows.append([f"{name}, offset {offset}", native, recorded, *ratios])
    return ResultTable(
        "CPU time of a loop of accesses, aligned and not",
        ["accesses", "native, s", "recorded, s", "recorded / native", "recorded / aligned"],
        rows,
        f"Median of {rounds} rounds; native runs, recordings and offsets alternate. Words of 8 "
        "bytes, each 16 bytes after the one before, in two pages. At offset 12, every fourth word "
        "is in two cache lines.",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 5,
    write: Annotated[bool, typer.Option(help="Write bench/results/alignment.md, .json.")] = True,
) -> None:
    """Measure what recording unaligned accesses costs."""
    try:
        build()
        table = alignment_table(rounds)
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("alignment", machine(), [table], write)


if __name__ == "__main__":
    typer.run(main)
