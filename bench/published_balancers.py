# SPDX-License-Identifier: Apache-2.0
"""The published results of NumaLB, next to what the simulator gives for the same benchmarks.

Published: L. L. Pilla et al., TR-JLPC-11-02, as read from its slides (bench/published). What it
does not say, and what is assumed here, is in docs/balance.md.
"""

import csv
import dataclasses
import statistics
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.tables import ResultTable
from numascape.balance import Problem, Target, TaskGraph, target_of_machine
from numascape.balance import generators as generated
from numascape.balance.graph import Cores
from numascape.balance.simulation import Costs, migration_time, simulate, simulate_balancing
from numascape.machine import open_machine

PUBLISHED = Path(__file__).parent / "published"
MACHINES = ("NUMA16", "NUMA32")
BENCHMARKS = ("kNeighbor", "lb_test", "jacobi2D")
# Our names of the columns' balancers.
BALANCERS = {
    "numalb": "numalb",
    "greedylb": "greedy",
    "metislb": "metis",
    "recbipartlb": "recbipart",
    "scotchlb": "scotch",
}
OURS = "incumbent"
NOISE = 0.03  # standard deviation of measured loads


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
    if benchmark == "kNeighbor":
        graph = generated.k_neighbor(200, cores, seed=seed)
    elif benchmark == "lb_test":
        graph = generated.lb_test(200, cores, seed=seed)
    else:
        graph = generated.jacobi2d(100, cores)
    noise = np.random.default_rng(1000 + seed).normal(1.0, NOISE, graph.tasks)
    return dataclasses.replace(graph, load=graph.load * noise)


def calibrated(target: Target, seconds: float, seed: int) -> Costs:
    """Costs with which kNeighbor, unbalanced, takes as long as published, by one number."""
    costs = Costs()
    graph = graph_of("kNeighbor", target.cores, seed)
    for _ in range(4):
        took = simulate(graph, target, graph.core, 4, costs).end / 4
        costs = dataclasses.replace(costs, per_byte=costs.per_byte * seconds / took)
    return costs


def iteration(graph: TaskGraph, target: Target, core: Cores, costs: Costs) -> float:
    """Seconds per iteration, after the first ones."""
    times = simulate(graph, target, core, 6, costs).iteration_times
    return statistics.fmean(times[2:])


def measure(benchmark: str, machine: str, seeds: int) -> dict[str, Cell]:
    """Every balancer's cell, and `baseline`."""
    target = target_of_machine(open_machine(machine.lower()))
    row = published("numalb_iteration_time")["kNeighbor", machine]
    cells: dict[str, list[Cell]] = {}
    for seed in range(seeds):
        costs = calibrated(target, float(row["baseline"]) / 1000, seed)
        graph = graph_of(benchmark, target.cores, seed)
        before = iteration(graph, target, graph.core, costs)
        efficiency = simulate(graph, target, graph.core, 6, costs).efficiency
        cells.setdefault("baseline", []).append(Cell(before, 1.0, 0, 0.0, efficiency))
        problem = Problem(graph, target)
        for name in (*BALANCERS.values(), OURS):
            balanced = problem.run(name)
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


def published_tables(seeds: int) -> list[ResultTable]:
    """Iteration times and gains, migrations, and migration time by task size."""
    times, counts = published("numalb_iteration_time"), published("numalb_migrations")
    time_rows: list[list[str | float | None]] = []
    count_rows: list[list[str | float | None]] = []
    gains: list[float] = []
    for benchmark in BENCHMARKS:
        for machine in MACHINES:
            cells = measure(benchmark, machine, seeds)
            theirs = times[benchmark, machine]
            scale = 1000.0 if theirs["unit"] == "ms" else 1.0
            base = float(theirs["baseline"])
            cell = f"{benchmark} {machine}, {theirs['unit']}"
            time_rows.append(
                [f"{cell}: published", base, *(float(theirs[name]) for name in BALANCERS), None]
            )
            names = ["baseline", *BALANCERS.values(), OURS]
            time_rows.append(
                [f"{cell}: simulated", *(scale * cells[name].seconds for name in names)]
            )
            time_rows.append(
                ["gain, published", 1.0, *(base / float(theirs[name]) for name in BALANCERS), None]
            )
            time_rows.append(["gain, simulated", *(cells[name].gain for name in names)])
            time_rows.append(["efficiency, simulated", *(cells[n].efficiency for n in names)])
            gains.append(cells["numalb"].gain)
            moved = counts[benchmark, machine]
            count_rows.append(
                [f"{benchmark} {machine}: published", *(float(moved[n]) for n in BALANCERS), None]
            )
            count_rows.append(
                [f"{benchmark} {machine}: here", *(cells[n].migrations for n in names[1:])]
            )
    columns = ["", "none", "NumaLB", "Greedy", "METIS", "RecBipart", "Scotch", "ours"]
    ratio = statistics.fmean(
        float(times[b, m]["baseline"]) / float(times[b, m]["numalb"])
        for b in BENCHMARKS
        for m in MACHINES
    )
    return [
        ResultTable(
            "Iteration time by balancer", columns, time_rows,
            f"Simulated: mean of {seeds} seeds. NumaLB's mean gain over no balancing: "
            f"{statistics.fmean(gains):.2f} simulated, {ratio:.2f} by these cells, 1.51 published.",
        ),
        ResultTable(
            "Tasks migrated", ["", *columns[2:]], count_rows,
            "Of 200 tasks (100 of jacobi2D). Partitioners' parts as they number them, as there.",
        ),
        migration_table(),
    ]  # fmt: skip


def migration_table() -> ResultTable:
    """How long NumaLB's and Greedy's migrations take, by the size of a task."""
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
    balanced = Problem(graph, target).run(balancer)
    run = simulate_balancing(graph, target, balanced.mapping, balanced.seconds, costs)
    efficiency = simulate(graph, target, balanced.mapping, 4, costs).efficiency
    title = f"{benchmark} on {machine}, {balancer}: efficiency {100 * efficiency:.1f} % afterwards"
    save_timeline(run, title, file)
    return efficiency
