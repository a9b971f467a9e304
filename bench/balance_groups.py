# SPDX-License-Identifier: Apache-2.0
"""Balances by groups of nodes in the processes of MPI, up to ten million tasks.

`mpiexec -n 3 python -m mpi4py.futures -m bench.balance_groups`: one process distributes the tasks,
the others balance. mpi4py is not a dependency: pip install mpi4py.
"""

import resource
import time
from dataclasses import replace
from typing import Annotated

import numpy as np
import typer
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor
from rich.console import Console

from bench.measure import machine
from bench.tables import ResultTable, Row, publish
from numascape.balance import Options, Problem, Target, TaskGraph, flat_target
from numascape.balance import generators as generated
from numascape.balance.hierarchy import balance_by_groups
from numascape.balance.mapping import OURS, Balanced

console = Console(stderr=True)


def uneven_mesh(side: int, cores: int) -> TaskGraph:
    """A mesh whose load rises towards the middle rows, so that whole nodes are overloaded."""
    graph = generated.mesh(side, cores)
    row = np.arange(side * side) // side
    graph.load[:] *= 1.0 + np.sin(np.pi * row / side)
    return graph


def with_memory(graph: TaskGraph, target: Target) -> tuple[TaskGraph, Target]:
    """Tasks of 1 to 8 MiB, and a limit of 1.3 times what each core needs on average."""
    sizes = np.random.default_rng(1).integers(1, 9, graph.tasks).astype(np.float64) * 2**20
    limit = 1.3 * sizes.sum() / target.cores
    return replace(graph, memory=sizes), replace(target, core_memory=np.full(target.cores, limit))


def rows(graph: TaskGraph, target: Target, groups: int, flat: bool) -> list[Row]:
    """The results of balancing by groups and, with `flat`, also of all tasks together."""
    limited = "" if not len(target.core_memory) else ", memory limited"
    size = f"{graph.tasks} tasks, {graph.messages} messages, {target.cores} cores on "
    now = Problem(graph, target).measure(graph.core)
    found: list[Row] = [
        [f"{size}{target.nodes} nodes{limited}: now", now.imbalance, now.communication, 0,
         now.cores_over, None]
    ]  # fmt: skip

    def add(label: str, balanced: Balanced) -> None:
        m = balanced.metrics
        found.append(
            [label, m.imbalance, m.communication, m.migrations, m.cores_over, balanced.seconds]
        )

    if flat:
        add("all at once", Problem(graph, target).run(OURS, Options(effort=0.2)))
    with MPIPoolExecutor() as executor:
        add(f"{groups} groups", balance_by_groups(graph, target, groups, executor,
                                                  Options(effort=0.2)))  # fmt: skip
    return found


def main(
    side: Annotated[int, typer.Option(min=64, help="Of the large mesh.")] = 3163,
    nodes: Annotated[int, typer.Option(min=32, help="For the large mesh, of 8 cores.")] = 2048,
    write: Annotated[bool, typer.Option(help="Write bench/results/balance_groups.*.")] = True,
) -> None:
    """Balance one mesh as a whole and by groups, and a large mesh by groups."""
    begin = time.perf_counter()
    small, target = uneven_mesh(512, 512), flat_target(64, 8, 2.5)
    found = rows(small, target, 8, flat=True)
    found += rows(*with_memory(small, target), 8, flat=True)
    console.print(f"small mesh: {time.perf_counter() - begin:.0f} s")
    found += rows(uneven_mesh(side, 8 * nodes), flat_target(nodes, 8, 2.5), 32, flat=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    workers = MPI.COMM_WORLD.Get_size() - 1
    table = ResultTable(
        "Balanced by groups of nodes",
        ["", "imbalance", "communication", "migrations", "cores beyond their memory", "s"], found,
        f"{workers} processes of MPI balance groups; the one that deals them out took "
        f"{peak:.1f} GiB at most.",
    )  # fmt: skip
    publish("balance_groups", machine(), [table], write)


if __name__ == "__main__":
    typer.run(main)
