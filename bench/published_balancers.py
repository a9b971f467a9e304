# SPDX-License-Identifier: Apache-2.0
"""Compares the published results of NumaLB with the simulator for the same benchmarks.

Published: L. L. Pilla et al., TR-JLPC-11-02, as read from its slides (bench/published).
docs/balance.md lists missing details and our assumptions.
"""

import csv
import dataclasses
import itertools
import statistics
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.tables import ResultTable
from numascape.balance import Options, Problem, Target, TaskGraph, target_of_machine
from numascape.balance import generators as generated
from numascape.balance.graph import Cores
from numascape.balance.mapping import Balanced
from numascape.balance.simulation import Costs, migration_time, simulate, simulate_balancing
from numascape.machine import open_machine

PUBLISHED = Path(__file__).parent / "published"
MACHINES = ("NUMA16", "NUMA32")
BENCHMARKS = ("kNeighbor", "lb_test", "jacobi2D")
# Our names of the columns' balancers.
BALANCERS = {
    "numalb": "numalb",
    "greedylb": "greedylb of early 2011",
    "metislb": "metis",
    "recbipartlb": "recbipart",
    "scotchlb": "scotch",
}
OURS = "incumbent"
SIMULATED = (*BALANCERS.values(), "greedy", OURS)
HEADINGS = ("NumaLB", "GreedyLB of early 2011", "METIS", "RecBipart", "Scotch", "Greedy", "ours")
NOISE = 0.03  # standard deviation of measured loads
SCOTCH_IMBALANCE = 1.01  # the imbalance that ScotchLB asks for


@dataclass(frozen=True)
class Cell:
    """One balancer on one benchmark and machine: medians over the seeds."""

    seconds: float
    gain: float  # unbalanced time over balanced time
    migrations: float
    own_ms: float
    efficiency: float


def published(name: str) -> dict[tuple[str, str], dict[str, str]]:
    with (PUBLISHED / f"{name}.csv").open() as file:
        return {(row["benchmark"], row["machine"]): row for row in csv.DictReader(file)}


def graph_of(benchmark: str, cores: int, seed: int) -> TaskGraph:
    """The tasks with their true loads."""
    if benchmark == "kNeighbor":
        return generated.k_neighbor(200, cores, seed=seed)
    if benchmark == "lb_test":
        return generated.lb_test(200, cores, seed=seed)
    return generated.jacobi2d(100, cores)


def as_measured(graph: TaskGraph, seed: int) -> TaskGraph:
    """The tasks with the loads that balancers get, which are wrong by a few per cent."""
    noise = np.random.default_rng(1000 + seed).normal(1.0, NOISE, graph.tasks)
    return dataclasses.replace(graph, load=graph.load * noise)


def mapped(problem: Problem, name: str) -> Balanced:
    """The mapping of a balancer, called like Charm++'s strategy of this name."""
    if name == "scotch":
        return problem.run(name, Options(max_imbalance=SCOTCH_IMBALANCE))
    if name != BALANCERS["greedylb"]:
        return problem.run(name)
    # From 9 December 2010 to 28 February 2011 (66a12630d and 5d70bb5e6 in Charm++'s repository) the
    # i-th chare got the core of the i-th heaviest chare, because GreedyLB sorts them.
    balanced = problem.run("greedy")
    mixed_up = balanced.mapping[np.argsort(-problem.graph.load, kind="stable")]
    return Balanced(name, mixed_up, problem.measure(mixed_up), balanced.seconds)


def calibrated(target: Target, seconds: float, seed: int) -> Costs:
    """Message costs with which kNeighbor takes the published time without balancing.

    No benchmark reads the content of its messages, so bytes cost nothing.
    """
    costs = Costs(per_byte=0.0)
    graph = graph_of("kNeighbor", target.cores, seed)
    for _ in range(4):
        took = simulate(graph, target, graph.core, 4, costs).end / 4
        costs = dataclasses.replace(costs, per_message=costs.per_message * seconds / took)
    return costs


def iteration(graph: TaskGraph, target: Target, core: Cores, costs: Costs) -> float:
    """Seconds per iteration, after the first ones."""
    times = simulate(graph, target, core, 6, costs).iteration_times
    return statistics.fmean(times[2:])


def measure(benchmark: str, machine: str, seeds: int) -> dict[str, Cell]:
    """The cell of every balancer, and `baseline`."""
    target = target_of_machine(open_machine(machine.lower()))
    row = published("numalb_iteration_time")["kNeighbor", machine]
    cells: dict[str, list[Cell]] = {}
    for seed in range(seeds):
        costs = calibrated(target, float(row["baseline"]) / 1000, seed)
        graph = graph_of(benchmark, target.cores, seed)
        before = iteration(graph, target, graph.core, costs)
        efficiency = simulate(graph, target, graph.core, 6, costs).efficiency
        cells.setdefault("baseline", []).append(Cell(before, 1.0, 0, 0.0, efficiency))
        problem = Problem(as_measured(graph, seed), target)
        for name in SIMULATED:
            balanced = mapped(problem, name)
            after = iteration(graph, target, balanced.mapping, costs)
            run = simulate(graph, target, balanced.mapping, 6, costs)
            cells.setdefault(name, []).append(
                Cell(after, before / after, balanced.metrics.migrations,
                     1000 * balanced.seconds, run.efficiency)
            )  # fmt: skip
    return {
        name: Cell(*(statistics.fmean(values) for values in zip(*map(dataclasses.astuple, own),
                                                                strict=True)))
        for name, own in cells.items()
    }  # fmt: skip


def pairs_in_order(theirs: dict[str, str], cells: dict[str, Cell]) -> tuple[int, int]:
    """The number of pairs with different published results: in the same order here, and in all."""
    same, pairs = 0, list(itertools.combinations(BALANCERS.items(), 2))
    differing = 0
    for (a, ours_a), (b, ours_b) in pairs:
        published_faster = float(theirs[a]) - float(theirs[b])
        faster = cells[ours_a].seconds - cells[ours_b].seconds
        differing += published_faster != 0
        same += published_faster * faster > 0
    return same, differing


def published_tables(seeds: int) -> list[ResultTable]:
    """Iteration times and gains, migrations, and migration time by task size."""
    times, counts = published("numalb_iteration_time"), published("numalb_migrations")
    unknown = [None] * (len(SIMULATED) - len(BALANCERS))
    time_rows: list[list[str | float | None]] = []
    count_rows: list[list[str | float | None]] = []
    gains: list[float] = []
    orders: list[str] = []
    for benchmark, machine in itertools.product(BENCHMARKS, MACHINES):
        cells = measure(benchmark, machine, seeds)
        theirs, moved = times[benchmark, machine], counts[benchmark, machine]
        scale = 1000.0 if theirs["unit"] == "ms" else 1.0
        base = float(theirs["baseline"])
        cell = f"{benchmark} {machine}, {theirs['unit']}"
        names = ["baseline", *SIMULATED]
        time_rows += [
            [f"{cell}: published", base, *(float(theirs[name]) for name in BALANCERS), *unknown],
            [f"{cell}: simulated", *(scale * cells[name].seconds for name in names)],
            ["gain, published", 1.0, *(base / float(theirs[name]) for name in BALANCERS), *unknown],
            ["gain, simulated", *(cells[name].gain for name in names)],
            ["efficiency, simulated", *(cells[name].efficiency for name in names)],
        ]
        gains.append(cells["numalb"].gain)
        same, differing = pairs_in_order(theirs, cells)
        orders.append(f"{benchmark} on {machine} {same} of {differing}")
        count_rows += [
            [f"{benchmark} {machine}: published", *(float(moved[n]) for n in BALANCERS), *unknown],
            [f"{benchmark} {machine}: here", *(cells[name].migrations for name in SIMULATED)],
        ]
    ratio = statistics.fmean(
        float(times[cell]["baseline"]) / float(times[cell]["numalb"])
        for cell in itertools.product(BENCHMARKS, MACHINES)
    )
    return [
        ResultTable(
            "Iteration time by balancer", ["", "none", *HEADINGS], time_rows,
            f"Simulated: mean of {seeds} seeds. NumaLB's mean gain over no balancing: "
            f"{statistics.fmean(gains):.2f} simulated, {ratio:.2f} by these cells, 1.51 published. "
            f"Pairs of balancers in the published order: {', '.join(orders)}.",
        ),
        ResultTable(
            "Tasks migrated", ["", *HEADINGS], count_rows,
            "Of 200 tasks (100 of jacobi2D). Partitioners' parts as they number them, as there.",
        ),
        migration_table(),
    ]  # fmt: skip


def migration_table() -> ResultTable:
    """The time of NumaLB's and Greedy's migrations by the size of a task."""
    rows: list[list[str | float | None]] = []
    for machine in MACHINES:
        target = target_of_machine(open_machine(machine.lower()))
        for kib in (1, 16, 256, 4096, 65536):
            graph = graph_of("lb_test", target.cores, 0)
            size = np.full(graph.tasks, kib * 1024.0)
            graph = dataclasses.replace(graph, migrated_bytes=size)
            problem = Problem(graph, target)
            took = [
                1000 * migration_time(graph, target, graph.core, problem.run(name).mapping)
                for name in ("numalb", "greedy", OURS)
            ]
            rows.append([f"{machine}, {kib} KiB", *took])
    return ResultTable(
        "Migration time by task size, ms", ["lb_test on", "NumaLB", "Greedy", "ours"], rows,
        "Simulated, 1 GB/s per core and 50 us per task. The published figure gives no numbers that "
        "could stand here.",
    )  # fmt: skip


def timeline(benchmark: str, machine: str, balancer: str, file: Path) -> float:
    """Draw two iterations before and four after balancing; returns the efficiency after it."""
    from numascape.figures.timeline_picture import save_timeline

    target = target_of_machine(open_machine(machine.lower()))
    graph = graph_of(benchmark, target.cores, 0)
    row = published("numalb_iteration_time")["kNeighbor", machine]
    costs = calibrated(target, float(row["baseline"]) / 1000, 0)
    balanced = mapped(Problem(as_measured(graph, 0), target), balancer)
    run = simulate_balancing(graph, target, balanced.mapping, balanced.seconds, costs)
    efficiency = simulate(graph, target, balanced.mapping, 4, costs).efficiency
    title = f"{benchmark} on {machine}, {balancer}: efficiency {100 * efficiency:.1f} % afterwards"
    save_timeline(run, title, file)
    return efficiency
