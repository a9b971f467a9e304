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
from numascape.machine import open_machine

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


MACHINES = ("numa16", "xeon-x7550", "epyc-9354p-nps4", "xeon-6980p-snc3")


def table_of_machines(by_machine: dict[str, list[Outcome]]) -> ResultTable:
    """Right, wrong and missed findings if gains are predicted for a machine."""
    rows: list[list[str | float | None]] = []
    for name, results in by_machine.items():
        reached = score(results)
        counts = [str(reached.right), str(reached.wrong), str(reached.missed)]
        rows.append([name, *counts, reached.precision, reached.recall])
    return ResultTable(
        "The same recordings, with gains predicted for a machine",
        ["machine", "right", "wrong", "missed", "precision", "recall"],
        rows,
        "What a program does wrong does not depend on the machine; only the gains do.",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Recordings of each program.")] = 1,
    write: Annotated[bool, typer.Option(help="Write bench/results/findings.md and .json.")] = True,
) -> None:
    """Measure precision and recall of findings."""
    done = []
    by_machine: dict[str, list[Outcome]] = {}
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
        for name in MACHINES:
            by_machine[name] = outcomes(programs, traces, open_machine(name))
    tables = [table_of(done), table_of_machines(by_machine)]
    for table in tables:
        print_table(table)
    if write:
        for path in write_results("findings", machine(), tables):
            console.print(f"wrote {path}")


if __name__ == "__main__":
    typer.run(main)
