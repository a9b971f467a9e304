# SPDX-License-Identifier: Apache-2.0
"""Compares the balancer with partitioners if migrations save more than they cost.

One graph is measured at a time. Times are CPU time, and METIS and our balancer take turns, so other
work on the machine changes their ratio by a few per cent. Results of other graphs and seeds are
kept, so that large graphs can be measured one by one.
"""

import json
import os
import time
from typing import Annotated

import typer
from rich.console import Console

from bench import rivals
from bench.measure import machine
from bench.tables import RESULTS, ResultTable, Row, print_table, write_results
from bench.task_graphs import KINDS
from numascape.balance import Metrics, Options, Problem, flat_target
from numascape.balance.graph import Cores
from numascape.balance.mapping import OURS

console = Console(stderr=True)

SIZES = {
    "1k": (1000, 32, 4),
    "10k": (10_000, 256, 8),
    "97k": (97_000, 1024, 32),
    "1M": (1_000_000, 4096, 128),
}
"""Tasks, cores and nodes."""
FACTOR = 2.0
IMBALANCE = 1.05
# METIS in two levels cannot be bounded exactly.
RIVALS_IMBALANCE = 1.055
# With this number, migrations only decide between mappings of the same communication cost.
FOR_EVER = 1e6
RIVAL_LIMIT_S = 1800.0
SMALL = ("1k", "10k")
# Some rivals can be run on larger graphs if tasks have few neighbours.
FEW_NEIGHBOURS = ("mesh", "AMR")
# The largest graphs of each rival, of FEW_NEIGHBOURS and of others; more would take many minutes.
LARGEST = {
    "scotch": ("1M", "10k"),
    "METIS in two levels": ("1M", "1M"),
    "Mt-KaHyPar in two levels": ("97k", "97k"),
    "KaHyPar in two levels": ("10k", "1k"),
    "KaHyPar": ("10k", "10k"),
    "Mt-KaHyPar": ("97k", "10k"),
    "KaFFPa": ("10k", "10k"),
    "SharedMap": ("10k", "10k"),
}
# No rival offers this as one call: the benchmark itself divides the work into two levels.
BUILT_FROM_PARTS = ("KaHyPar in two levels", "Mt-KaHyPar in two levels")
PRICED_ITERATIONS = (1.0, 3.0, 10.0, 20.0, 40.0, 100.0)

COLUMNS = ("", "best rival", "its excess", "ours", "ours over it", "in two levels",
           "ours over that", "fewest migrations of rivals",
           "ours ", "METIS, CPU s", "ours, CPU s", "ours over METIS", "load")  # fmt: skip
PRICED_COLUMNS = (
    "", *(f"{what}, {n:g}" for n in PRICED_ITERATIONS for what in ("excess", "migrations"))
)  # fmt: skip
COMPARED, PRICED = "Where migrations are worth it", "By iterations until the next balance"
NOTES = {
    COMPARED: (
        "Excess: communication cost beyond that of all messages on one node; at an imbalance of at "
        f"most {IMBALANCE} (rivals: {RIVALS_IMBALANCE}). One NUMA factor, {FACTOR:g}. Rivals: "
        "METIS; Scotch, except on power law and random graphs of 97k and more; METIS in two levels "
        "(pymetis); KaFFPa, SharedMap, KaHyPar and Mt-KaHyPar, up to 10k (Mt-KaHyPar also on "
        "meshes and AMR graphs of 97k). In two levels: the "
        "smaller excess of Mt-KaHyPar (up to 97k) and KaHyPar (up to 1k; meshes and AMR graphs of "
        "10k) if bench/rivals calls them for the nodes, and then for the cores of each node; both "
        "take many times as long as ours. Migrations are relabelled. Ours: incumbent "
        f"with its defaults and {FOR_EVER:g} iterations until the next balance. CPU times: the "
        "least of some interleaved rounds, one thread. Load: the load average when the row began; "
        "the machine has two CPUs. Rows of power law and random graphs of 1k, 10k and, with seed "
        "1, of 97k are up to two days older. Where a graph was measured again because "
        "ours had changed, the results of slow rivals are those of the first time (SharedMap, "
        "KaHyPar and Mt-KaHyPar, on power law and "
        "random graphs of 10k)."
    ),
    PRICED: "Of the first seed. The price of a migration is the mean communication cost of a task.",
}


def timed(problem: Problem, name: str, options: Options) -> tuple[Cores, float]:
    """The mapping, and the CPU seconds that it took."""
    begin = time.process_time()
    mapping = problem.run(name, options).mapping
    return mapping, time.process_time() - begin


def rival_mappings(problem: Problem, size: str, kind: str) -> dict[str, Cores]:
    """The results of the other programs, except METIS."""
    sizes = list(SIZES)
    found = {}
    for rival in ("scotch", *rivals.installed()):
        largest = LARGEST[rival][0 if kind in FEW_NEIGHBOURS else 1]
        if sizes.index(size) > sizes.index(largest):
            continue
        if rival == "scotch":
            found[rival] = problem.run(rival, Options(max_imbalance=IMBALANCE)).mapping
        elif (result := rivals.run(rival, problem, RIVAL_LIMIT_S)) is not None:
            found[rival] = result[0]
    return found


def compared(name: str, problem: Problem, size: str, kind: str, rounds: int) -> Row:
    """All programs on one graph."""
    load = os.getloadavg()[0]
    plain = Options(max_imbalance=IMBALANCE)
    ours = Options(max_imbalance=IMBALANCE, iterations=FOR_EVER)
    pairs = [(timed(problem, "metis", plain), timed(problem, OURS, ours)) for _ in range(rounds)]
    times = [min(pair[side][1] for pair in pairs) for side in (0, 1)]
    mine = measured(problem, pairs[0][1][0])
    theirs = {
        rival: measured(problem, mapping)
        for rival, mapping in (
            ("metis", pairs[0][0][0]), *rival_mappings(problem, size, kind).items()
        )
    }  # fmt: skip
    least = float(problem.graph.count.sum())  # each message costs 1 even on one node
    fair = {
        rival: metrics.communication - least
        for rival, metrics in theirs.items()
        if metrics.imbalance < RIVALS_IMBALANCE
    }
    offered = {rival: excess for rival, excess in fair.items() if rival not in BUILT_FROM_PARTS}
    built = [excess for rival, excess in fair.items() if rival in BUILT_FROM_PARTS]
    best = min(offered, key=lambda rival: offered[rival])
    excess = mine.communication - least
    console.print(f"{name}: imbalance {mine.imbalance:.4f}, rivals {', '.join(theirs)}")
    return [
        name, best, offered[best], excess, excess / offered[best],
        min(built, default=None), excess / min(built) if built else None,
        min(metrics.migrations for metrics in theirs.values()), mine.migrations,
        *times, times[1] / times[0], load,
    ]  # fmt: skip


def measured(problem: Problem, mapping: Cores) -> Metrics:
    return problem.measure(problem.relabel(mapping))


def priced(name: str, problem: Problem) -> Row:
    """The excess and the migrations, by the number of iterations for which the mapping stays."""
    least = float(problem.graph.count.sum())
    row: Row = [name]
    for iterations in PRICED_ITERATIONS:
        options = Options(max_imbalance=IMBALANCE, iterations=iterations)
        metrics = problem.run(OURS, options).metrics
        row += [metrics.communication - least, metrics.migrations]
    return row


def with_kept(title: str, columns: tuple[str, ...], rows: list[Row]) -> ResultTable:
    """These rows and those of other graphs in the results, ordered by size and kind."""
    file = RESULTS / "portfolio.json"
    before = json.loads(file.read_text())["tables"] if file.is_file() else []
    kept = {
        row[0]: row
        for table in before
        if table["title"] == title and tuple(table["columns"]) == columns
        for row in table["rows"]
    }
    kept.update({row[0]: row for row in rows})
    order = [f"{size} {kind}" for size in SIZES for kind in KINDS]

    def place(name: str) -> tuple[int, str]:
        graph, _, seed = name.partition(", ")
        return order.index(graph), seed

    ordered = [kept[name] for name in sorted(kept, key=lambda name: place(str(name)))]
    return ResultTable(title, columns, ordered, NOTES[title])


def main(
    case: Annotated[
        list[str] | None, typer.Option(help="Such as '1M:mesh'; default: 1k and 10k of all kinds.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="Of the graphs; default: 1, 2, 3.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Pairs of METIS and ours.")] = 3,
    write: Annotated[bool, typer.Option(help="Write bench/results/portfolio.*.")] = True,
) -> None:
    """Compare the balancer with partitioners on four kinds of graphs."""
    rows: list[Row] = []
    prices: list[Row] = []
    for chosen in case or [f"{size}:{kind}" for size in SMALL for kind in KINDS]:
        size, kind = chosen.split(":")
        tasks, cores, nodes = SIZES[size]
        for number in seed or (1, 2, 3):
            graph = KINDS[kind](tasks, cores, number)
            problem = Problem(graph, flat_target(nodes, cores // nodes, FACTOR))
            rows.append(compared(f"{size} {kind}, seed {number}", problem, size, kind, rounds))
            if size in SMALL and number == 1:
                prices.append(priced(f"{size} {kind}", problem))
            tables = [
                ResultTable(COMPARED, COLUMNS, rows),
                ResultTable(PRICED, PRICED_COLUMNS, prices),
            ]
            if write:
                tables = [
                    with_kept(COMPARED, COLUMNS, rows), with_kept(PRICED, PRICED_COLUMNS, prices)
                ]  # fmt: skip
                write_results("portfolio", machine(), tables)
    for table in tables:
        print_table(table)


if __name__ == "__main__":
    typer.run(main)
