# SPDX-License-Identifier: Apache-2.0
"""Measures precision and recall of findings over the labelled programs."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import machine
from bench.tables import ResultTable, print_table, write_results
from integration.findings.labelled import Outcome, build, outcomes, score

console = Console(stderr=True)


def table_of(rounds: list[list[Outcome]]) -> ResultTable:
    """The number of right, wrong and missed findings of all rounds, by set and by kind."""
    results = [result for outcome in rounds for result in outcome]
    rows: list[list[str | float | None]] = []
    sets = (
        ("programs that thresholds were chosen with", [r for r in results if not r.held_back]),
        ("programs held back", [r for r in results if r.held_back]),
        ("all", results),
    )
    for name, chosen in sets:
        reached = score(chosen)
        rows.append(
            [
                name,
                str(len({result.program for result in chosen})),
                str(reached.right),
                str(reached.wrong),
                str(reached.missed),
                reached.precision,
                reached.recall,
            ]
        )
    return ResultTable(
        "Findings about programs whose causes are known",
        ["set", "programs", "right", "wrong", "missed", "precision", "recall"],
        rows,
        f"Sums over {len(rounds)} recordings of each program. tests/integration/findings/programs "
        "has the programs with their labels; every finding that is not a label is wrong.",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Recordings of each program.")] = 1,
    write: Annotated[bool, typer.Option(help="Write bench/results/findings.md and .json.")] = True,
) -> None:
    """Measure precision and recall of findings."""
    done = []
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) / "programs"
        programs.mkdir()
        build(programs)
        for number in range(rounds):
            traces = Path(folder) / f"traces-{number}"
            traces.mkdir()
            done.append(outcomes(programs, traces))
            for result in done[-1]:
                if result.planted != result.found:
                    missed, wrong = result.planted - result.found, result.found - result.planted
                    console.print(
                        f"{result.program}: missed {sorted(missed)}, wrong {sorted(wrong)}"
                    )
    table = table_of(done)
    print_table(table)
    if write:
        for path in write_results("findings", machine(), [table]):
            console.print(f"wrote {path}")


if __name__ == "__main__":
    typer.run(main)
