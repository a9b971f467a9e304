# SPDX-License-Identifier: Apache-2.0
"""Compares the balancer with partitioners where migrations are worth it, and counts migrations."""

import os
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console

from bench import rivals
from bench.measure import machine
from bench.tables import ResultTable, print_table, write_results
from bench.task_graphs import KINDS
from numascape.balance import Options, Problem, flat_target
from numascape.balance.graph import Cores
from numascape.balance.mapping import OURS, Balanced

console = Console(stderr=True)

SIZES = {"1k": (1000, 32, 4), "10k": (10_000, 256, 8), "97k": (97_000, 1024, 32)}
"""Tasks, cores and nodes."""
FACTOR = 2.0
IMBALANCE = 1.05
# So many that migrations only decide between mappings of the same communication cost.
FOR_EVER = 1e6
RIVAL_LIMIT_S = 60.0
Row = list[str | float | None]


@dataclass(frozen=True)
class Case:
    """The rows of one graph, and its row among all graphs."""

    table: ResultTable
    summary: Row


def rival_mappings(problem: Problem) -> list[tuple[str, Cores, float]]:
    """What the other programs find, and their seconds."""
    options = Options(max_imbalance=IMBALANCE)
    found = []
    for name in ("metis", "scotch"):
        run = problem.run(name, options)
        found.append((name, run.mapping, run.seconds))
    for rival in rivals.installed():
        result = rivals.run(rival, problem, RIVAL_LIMIT_S)
        if result is not None:
            found.append((rival, *result))
    return found


def within(problem: Problem, best: Cores) -> Balanced:
    """Our mapping with the fewest migrations that is as good as another one."""
    bound = problem.measure(best)
    return problem.run(
        OURS,
        Options(
            max_imbalance=max(bound.imbalance, IMBALANCE),
            max_communication=bound.communication,
            communication_weight=0.0,
        ),
        problem.relabel(best),
    )


def compared(size: str, kind: str, seed: int) -> Case:
    """All programs on one graph."""
    tasks, cores, nodes = SIZES[size]
    graph = KINDS[kind](tasks, cores, seed)
    problem = Problem(graph, flat_target(nodes, cores // nodes, FACTOR))
    # Each message costs 1 even on one node.
    least = float(graph.count.sum())

    def row(name: str, mapping: Cores, seconds: float) -> Row:
        metrics = problem.measure(mapping)
        migrations = problem.measure(problem.relabel(mapping)).migrations
        excess = metrics.communication - least
        return [name, metrics.imbalance, excess, migrations, 1000 * seconds]

    found = rival_mappings(problem)
    theirs = [row(*rival) for rival in found]
    ours = []
    for name, options in (
        ("incumbent, 1 iteration", Options(max_imbalance=IMBALANCE)),
        ("10 iterations", Options(max_imbalance=IMBALANCE, iterations=10.0)),
        ("100 iterations", Options(max_imbalance=IMBALANCE, iterations=100.0)),
        ("for ever, without partitions", _for_ever(starts=("now", "scratch"))),
        ("for ever, without annealing", _for_ever(effort=0.0)),
        ("for ever", _for_ever()),
    ):
        run = problem.run(OURS, options)
        ours.append(row(name, run.mapping, run.seconds))
    best = _best(problem, found)
    fewest = within(problem, best[1])
    ours.append(row(f"within {best[0]}", fewest.mapping, fewest.seconds))
    theirs_best = row(*best)
    title = f"{size} {kind}: {graph.tasks} tasks, {graph.messages} messages"
    table = ResultTable(
        f"{title}, {cores} cores on {nodes} nodes",
        ["", "imbalance", "excess", "migrations", "ms"],
        [row("now", graph.core, 0.0), *theirs, *ours],
        "",
    )
    before, quick, full, last = ours[-4:]
    return Case(
        table,
        [f"{size} {kind}", best[0], theirs_best[2], full[2], before[2], theirs_best[3], full[3],
         last[3], theirs[0][4], quick[4], full[4]],
    )  # fmt: skip


def _for_ever(starts: tuple[str, ...] = (), effort: float = 1.0) -> Options:
    return Options(max_imbalance=IMBALANCE, iterations=FOR_EVER, starts=starts, effort=effort)


def _best(problem: Problem, found: list[tuple[str, Cores, float]]) -> tuple[str, Cores, float]:
    """The one with the lowest communication cost of those about as balanced as asked."""
    measured = [(problem.measure(rival[1]), rival) for rival in found]
    fair = [(m.communication, i) for i, (m, _) in enumerate(measured) if m.imbalance < 1.055]
    return measured[min(fair)[1]][1]


def summary(cases: list[Case]) -> ResultTable:
    return ResultTable(
        "Where migrations are worth it",
        ["", "best rival", "its excess", "ours", "ours without partitions", "its migrations",
         "ours ", "ours within", "METIS ms", "ours without annealing, ms", "ours, ms"],
        [case.summary for case in cases],
        "Excess: communication cost beyond that of all messages on one node; at an imbalance of at "
        f"most {IMBALANCE} (rivals: 1.055). One NUMA factor, {FACTOR:g}. "
        "Migrations are relabelled. "
        "Ours: incumbent with so many iterations until the next balance that a migration costs "
        "almost nothing. Without partitions: with the starts now and scratch, as in earlier "
        "versions. Within: fewest migrations within the rival's imbalance and communication. "
        f"Rivals had {RIVAL_LIMIT_S:g} s.",
    )  # fmt: skip


def main(
    size: Annotated[list[str] | None, typer.Option(help="1k, 10k, 97k; default: all.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="mesh, AMR, power law, random.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the graphs.")] = 1,
    write: Annotated[bool, typer.Option(help="Write bench/results/portfolio.*.")] = True,
) -> None:
    """Compare the balancer's portfolio with partitioners on four kinds of graphs."""
    load = os.getloadavg()[0]
    cases = []
    for chosen in size or SIZES:
        for name in kind or KINDS:
            cases.append(compared(chosen, name, seed))
            print_table(cases[-1].table)
    tables = [summary(cases), *(case.table for case in cases)]
    print_table(tables[0])
    if write:
        about = {**machine(), "other_work": f"load average {load:.1f} before the first round"}
        for path in write_results("portfolio", about, tables):
            console.print(f"wrote {path}")


if __name__ == "__main__":
    typer.run(main)
