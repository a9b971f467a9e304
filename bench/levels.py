# SPDX-License-Identifier: Apache-2.0
"""Compares the shares of messages that balancers keep on each level of a machine.

All balancers of a row take turns on the same graph in one process; times are CPU time.
"""

import os
import time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from bench.measure import machine as this_machine
from bench.tables import ResultTable, Row, publish
from bench.task_graphs import KINDS
from numascape.balance import Options, Problem, target_of_machine
from numascape.balance.graph import Cores
from numascape.balance.levels import assumed_costs, with_levels
from numascape.balance.mapping import OURS
from numascape.balance.place_levels import PlaceLevel, level_names, messages_by_level, place_levels
from numascape.balance.target import USUAL_FACTOR, several_hosts
from numascape.machine import open_machine

console = Console(stderr=True)

# Machines of this repository, one with more levels, and the number of hosts.
MACHINES = {
    "epyc-9354p-nps4": 4,
    "opteron-6174": 4,
    "xeon-6980p-snc3": 1,
    "package:2 numa:2 l3:2 l2:2 core:4 pu:1": 4,
}
TASKS_PER_CORE = 32
HOST_FACTOR = 10.0
IMBALANCE = 1.05
FOR_EVER = 1e6
BALANCERS = ("numalb", "hierarchicalnumalb", "metis", "scotch", OURS)
COLUMNS = ("", "imbalance", "cost", "over the best", "migrations", "CPU s")
NOTE = (
    "Shares in per cent of all messages, at the closest level that sender and receiver share; each "
    "message has the same bytes, so the shares of bytes are the same. Cost: of all messages, by "
    f"level (assumed costs; factor between hosts {HOST_FACTOR:g}). Migrations are relabelled. "
    f"Imbalance aimed at: {IMBALANCE:g}. numalb: the published rule, which the costs reach as "
    "factors between cores; it counts no message to the same core. numalb, published target: it "
    "gets NUMA factors only, as published. Scotch has a tree of the levels as its target. metis "
    f"ignores levels. incumbent: {FOR_EVER:g} iterations until the next balance, so that "
    "migrations cost almost nothing. CPU s: the least of the interleaved rounds, one thread."
)


def mappings(problem: Problem, published: Problem, rounds: int) -> dict[str, tuple[Cores, float]]:
    """The mapping of each balancer, and the fewest CPU seconds of the rounds."""
    plain = Options(max_imbalance=IMBALANCE)
    ours = Options(max_imbalance=IMBALANCE, iterations=FOR_EVER)
    runs = [("numalb, published target", published, "numalb", plain)]
    runs += [(name, problem, name, ours if name == OURS else plain) for name in BALANCERS]
    found: dict[str, tuple[Cores, float]] = {}
    for _ in range(rounds):
        for label, on, name, options in runs:
            begin = time.process_time()
            mapping = on.run(name, options).mapping
            took = time.process_time() - begin
            found[label] = (mapping, min(took, found.get(label, (mapping, took))[1]))
    return found


def compared(name: str, hosts: int, kind: str, rounds: int) -> ResultTable:
    """All balancers on one machine and one graph."""
    machine = open_machine(name)
    plain = several_hosts(target_of_machine(machine, USUAL_FACTOR), hosts, HOST_FACTOR)
    levels = place_levels(plain, machine, hosts)
    costs = assumed_costs(levels)
    graph = KINDS[kind](TASKS_PER_CORE * plain.cores, plain.cores, 1)
    problem = Problem(graph, with_levels(plain, levels, costs))
    found = {"now": (graph.core, float("nan"))}
    found |= mappings(problem, Problem(graph, plain), rounds)
    measured = {label: problem.measure(mapping) for label, (mapping, _) in found.items()}
    best = min(
        m.communication for m in measured.values() if m.imbalance <= IMBALANCE * (1 + 1e-9) + 0.005
    )
    rows: list[Row] = []
    for label, (mapping, seconds) in found.items():
        m = measured[label]
        rows.append([
            label, m.imbalance, m.communication, m.communication / best,
            problem.relabelled_migrations(mapping), None if np.isnan(seconds) else seconds,
            *shares(problem, mapping, levels, hosts),
        ])  # fmt: skip
    title = f"{kind}, {graph.tasks} tasks on {plain.cores} cores of {hosts} x {name}"
    console.print(title)
    each = ", ".join(f"{level} {cost:g}" for level, cost in costs.by_name.items())
    columns = (*COLUMNS, *(f"% {level}" for level in level_names(levels, hosts)))
    return ResultTable(title, columns, rows, f"Costs: {each}.")


def shares(problem: Problem, mapping: Cores, levels: list[PlaceLevel], hosts: int) -> list[float]:
    """The percentage of messages of each level."""
    by_level = messages_by_level(problem.graph, mapping, levels)
    return [100 * by_level[name] for name in level_names(levels, hosts)]


def main(
    kind: Annotated[
        list[str] | None, typer.Option(help="Of graphs; default: mesh, AMR, random.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Of all balancers in turn.")] = 3,
    write: Annotated[bool, typer.Option(help="Write bench/results/levels.*.")] = True,
) -> None:
    """Compare balancers on machines with several levels."""
    load = os.getloadavg()[0]
    tables = [
        compared(name, hosts, chosen, rounds)
        for name, hosts in MACHINES.items()
        for chosen in kind or ("mesh", "AMR", "random")
    ]
    last = tables[-1]
    note = f"{last.note} {NOTE} The load average was {load:.1f} at the start."
    tables[-1] = ResultTable(last.title, last.columns, last.rows, note)
    publish("levels", this_machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
