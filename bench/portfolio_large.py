# SPDX-License-Identifier: Apache-2.0
"""Compares the balancer with partitioners on large graphs, by CPU time in interleaved rounds.

Other work on the machine lengthens wall-clock time several times, and CPU time by a few per cent.
METIS in two levels needs pymetis from PyPI, which is not a dependency.
"""

import os
import statistics
import time
from typing import Annotated

import typer
from rich.console import Console

from bench import rivals
from bench.measure import machine
from bench.portfolio import FACTOR, FOR_EVER, IMBALANCE, SIZES, Row
from bench.tables import ResultTable, print_table, write_results
from bench.task_graphs import KINDS
from numascape.balance import Options, Problem, flat_target
from numascape.balance.graph import Cores
from numascape.balance.mapping import OURS

console = Console(stderr=True)

LARGE = {**SIZES, "1M": (1_000_000, 4096, 128)}
# On graphs without geometry, Scotch takes minutes and is worse than METIS in two levels: see
# results/portfolio.md.
SCOTCH_KINDS = ("mesh", "AMR")
TWO_LEVELS = "METIS in two levels"
COLUMNS = ("", "METIS", "Scotch", TWO_LEVELS, "ours", "fewest migrations of them", "ours ",
           "METIS CPU s", "ours, CPU s", "ours over METIS")  # fmt: skip


def timed(problem: Problem, name: str, options: Options) -> tuple[Cores, float]:
    """The mapping, and the CPU seconds that it took."""
    begin = time.process_time()
    mapping = problem.run(name, options).mapping
    return mapping, time.process_time() - begin


def compared(size: str, kind: str, seed: int, rounds: int) -> Row:
    tasks, cores, nodes = LARGE[size]
    graph = KINDS[kind](tasks, cores, seed)
    problem = Problem(graph, flat_target(nodes, cores // nodes, FACTOR))
    least = float(graph.count.sum())
    plain = Options(max_imbalance=IMBALANCE)
    ours = Options(max_imbalance=IMBALANCE, iterations=FOR_EVER, effort=0.0)
    pairs = [(timed(problem, "metis", plain), timed(problem, OURS, ours)) for _ in range(rounds)]
    (metis, _), (mine, _) = pairs[0]
    times = [statistics.median(pair[side][1] for pair in pairs) for side in (0, 1)]
    found: dict[str, Cores | None] = {"metis": metis, "scotch": None, TWO_LEVELS: None}
    if kind in SCOTCH_KINDS:
        found["scotch"] = problem.run("scotch", plain).mapping
    if TWO_LEVELS in rivals.installed():
        result = rivals.run(TWO_LEVELS, problem, 1800.0)
        found[TWO_LEVELS] = None if result is None else result[0]

    def excess(mapping: Cores | None) -> float | None:
        return None if mapping is None else problem.measure(mapping).communication - least

    def migrations(mapping: Cores) -> int:
        return problem.measure(problem.relabel(mapping)).migrations

    theirs = [mapping for mapping in found.values() if mapping is not None]
    console.print(f"{size} {kind}: imbalance {problem.measure(mine).imbalance:.4f}")
    return [
        f"{size} {kind}", *(excess(mapping) for mapping in found.values()), excess(mine),
        min(map(migrations, theirs)), migrations(mine), *times, times[1] / times[0],
    ]  # fmt: skip


def main(
    case: Annotated[
        list[str] | None, typer.Option(help="Such as '1M:mesh'; default: 97k of all kinds.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the graphs.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Pairs of METIS and ours.")] = 2,
    write: Annotated[bool, typer.Option(help="Write bench/results/portfolio_large.*.")] = True,
) -> None:
    """Compare the balancer with partitioners on large graphs."""
    load = os.getloadavg()[0]
    rows = []
    for chosen in case or [f"97k:{kind}" for kind in KINDS]:
        size, kind = chosen.split(":")
        rows.append(compared(size, kind, seed, rounds))
        table = ResultTable(
            "Communication, migrations and CPU time", COLUMNS, rows,
            "The first four: communication cost beyond that of all messages on one node; at an "
            f"imbalance of at most {IMBALANCE} (METIS in two levels: a little more). One NUMA "
            f"factor, {FACTOR:g}. Migrations are relabelled. Ours: incumbent without annealing, "
            "with so many iterations until the next balance that a migration costs almost nothing. "
            f"CPU times: medians of {rounds} interleaved rounds, one thread.",
        )  # fmt: skip
        print_table(table)
        if write:
            about = {**machine(), "other_work": f"load average {load:.1f} before the first round"}
            for path in write_results("portfolio_large", about, [table]):
                console.print(f"wrote {path}")


if __name__ == "__main__":
    typer.run(main)
