# SPDX-License-Identifier: Apache-2.0
"""Compares balancers: with published results, with partitioners, and at scale."""

import os
import resource
import statistics
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from bench import rivals
from bench.measure import machine
from bench.published_balancers import graph_of, published_tables, timeline
from bench.tables import RESULTS, ResultTable, publish
from numascape.balance import (
    ALGORITHMS,
    Options,
    Problem,
    TaskGraph,
    flat_target,
    target_of_machine,
)
from numascape.balance import generators as generated
from numascape.balance.formats import read_graph
from numascape.balance.graph import Cores
from numascape.balance.mapping import OURS, Balanced
from numascape.balance.threads import thread_graph
from numascape.machine import open_machine
from numascape.trace import Trace

console = Console(stderr=True)
BASELINES = tuple(name for name in ALGORITHMS if name != OURS)


def cases(matrices: list[Path]) -> list[tuple[str, TaskGraph]]:
    target_cores = 32
    found = [(name, graph_of(name, target_cores, 0)) for name in ("kNeighbor", "lb_test",
                                                                  "jacobi2D")]  # fmt: skip
    found.append(("mesh 64 x 64", generated.mesh(64, target_cores)))
    found.append(("mesh 512 x 512", generated.mesh(512, target_cores)))
    for path in matrices:
        if (path / "trace.json").exists():
            found.append((f"threads of {path.stem}", thread_graph(Trace.read(path), target_cores)))
        else:
            found.append((path.stem, read_graph(path, target_cores)))
    return found


def dominating(problem: Problem, theirs: Cores) -> Balanced:
    """Our mapping with fewest migrations that is no worse in imbalance and communication."""
    start = problem.relabel(theirs)
    bound = problem.measure(start)
    options = Options(
        max_imbalance=bound.imbalance,
        max_communication=bound.communication,
        communication_weight=0.0,
        threads=2,
    )
    return problem.run(OURS, options, start)


def fewest_migrations(graph: TaskGraph, cores: int, imbalance: float) -> int:
    """A lower bound of migrations: remove the heaviest tasks until no core is above the limit."""
    times = np.bincount(graph.core, graph.load, cores)
    cap = imbalance * times.mean() * (1 + 1e-9)
    needed = 0
    for core in np.flatnonzero(times > cap):
        leaving = np.sort(graph.load[graph.core == core])[::-1]
        needed += int(np.searchsorted(np.cumsum(leaving), times[core] - cap)) + 1
    return needed


def compared(name: str, graph: TaskGraph) -> ResultTable:
    """Each balancer, and our result that is no worse in imbalance and communication cost."""
    problem = Problem(graph, target_of_machine(open_machine("numa32")))
    now = problem.measure(graph.core)
    rows: list[list[str | float | None]] = [
        ["now", now.imbalance, now.communication, 0, 0, None, None, None, None]
    ]
    ours = problem.run(OURS)
    results: list[tuple[str, Cores, float] | None] = [(OURS, ours.mapping, ours.seconds)]
    for baseline in BASELINES:
        run = problem.run(baseline)
        results.append((baseline, run.mapping, run.seconds))
    for rival in rivals.installed():
        found = rivals.run(rival, problem)
        results.append((rival, *found) if found else None)
    for result in results:
        if result is None:
            continue
        label, mapping, seconds = result
        m = problem.measure(mapping)
        relabelled = problem.measure(problem.relabel(mapping)).migrations
        row: list[str | float | None] = [
            label,
            m.imbalance,
            m.communication,
            m.migrations,
            relabelled,
            1000 * seconds,
        ]
        if label == OURS:
            rows.append([*row, None, None, None])
            continue
        better = dominating(problem, mapping)
        within = better.metrics.imbalance <= m.imbalance * (
            1 + 1e-9
        ) and better.metrics.communication <= m.communication * (1 + 1e-9)
        least = fewest_migrations(graph, problem.target.cores, m.imbalance)
        moved = better.metrics.migrations if within else None
        rows.append([*row, moved, 1000 * better.seconds, least])
    return ResultTable(
        f"{name} on NUMA32: {graph.tasks} tasks, {graph.messages} messages",
        ["", "imbalance", "communication", "migrations", "relabelled", "ms", "ours within", "ms ",
         "at least"],
        rows,
        "Relabelled: after renumbering the parts for the fewest migrations. Ours within: "
        "migrations of ours when it must be no worse in imbalance and communication. At least: so "
        "many tasks must leave their cores for that imbalance, whatever communication then costs.",
    )  # fmt: skip


def timed(problem: Problem, algorithm: str, rounds: int) -> tuple[float, float]:
    """Median wall and CPU seconds of the algorithm alone."""
    walls, cpus = [], []
    for _ in range(rounds):
        begin = time.process_time()
        walls.append(problem.run(algorithm).seconds)
        cpus.append(time.process_time() - begin)
    return statistics.median(walls), statistics.median(cpus)


def scale_table(side: int) -> ResultTable:
    """Times for 200 tasks on 32 cores, and for a mesh with distant messages on 8192 cores."""
    rows: list[list[str | float | None]] = []
    small = Problem(graph_of("lb_test", 32, 0), target_of_machine(open_machine("numa32")))
    wall, _ = timed(small, "numalb", 1001)
    rows.append(["NumaLB, 200 tasks on 32 cores", 1000 * wall, None, None])
    graph = scattered_mesh(side)
    target = flat_target(64, 128, 2.48)
    problem = Problem(graph, target)
    size = f"{graph.tasks} tasks, {graph.messages} messages, {target.cores} cores on 64 nodes"
    for algorithm, label in (("numalb", "NumaLB"), (OURS, "ours")):
        wall, cpu = timed(problem, algorithm, 3)
        balanced = problem.run(algorithm)
        rows.append([f"{label}, {size}", 1000 * wall, 1000 * cpu, balanced.metrics.imbalance])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return ResultTable(
        "Scale", ["", "wall ms", "CPU ms with metrics", "imbalance"], rows,
        "Medians; one thread. Where other programs ran, wall time is theirs too. "
        f"Peak memory of the process, generator included: {peak:.0f} MiB.",
    )  # fmt: skip


def scattered_mesh(side: int) -> TaskGraph:
    """A mesh whose tasks also send to six others within four rows and columns."""
    graph = generated.mesh(side, 8192)
    random = np.random.default_rng(2)
    sender = np.repeat(np.arange(side * side), 6)
    row = (sender // side + random.integers(-4, 5, len(sender))) % side
    column = (sender % side + random.integers(-4, 5, len(sender))) % side
    from numascape.balance import task_graph

    return task_graph(
        graph.load, graph.core,
        np.concatenate([graph.senders, sender]), np.concatenate([graph.to, row * side + column]),
    )  # fmt: skip


def main(
    seeds: Annotated[int, typer.Option(min=1, help="Of the simulated benchmarks.")] = 10,
    side: Annotated[int, typer.Option(min=10, help="Of the scale's mesh.")] = 1000,
    matrix: Annotated[
        list[Path] | None, typer.Option(help="A communication matrix, task graph or trace as well.")
    ] = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/balance.*.")] = True,
) -> None:
    """Compare balancers with published results, with partitioners, and at scale."""
    load = os.getloadavg()[0]
    tables = published_tables(seeds)
    for name, graph in cases(matrix or []):
        console.print(f"{name}: {', '.join([*BASELINES, *rivals.installed()])}")
        tables.append(compared(name, graph))
    tables.append(scale_table(side))
    # Times are meaningful only if the machine is idle.
    about = {**machine(), "other_work": f"load average {load:.1f} before the first round"}
    publish("balance", about, tables, write)
    if write:
        for balancer in ("numalb", "metis", OURS):
            file = RESULTS / f"balance-jacobi2D-NUMA16-{balancer}.png"
            timeline("jacobi2D", "NUMA16", balancer, file)
            console.print(f"wrote {file}")


if __name__ == "__main__":
    typer.run(main)
