# SPDX-License-Identifier: Apache-2.0
"""Balances for the verb `balance`: groups in other processes, the table, and pictures."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from numascape import terminal
from numascape.commands._balance_input import is_trace
from numascape.commands._written import say_written
from numascape.errors import NumascapeError
from numascape.quantities import bytes_text, counted

if TYPE_CHECKING:
    from numascape.balance import Balanced, Metrics, Options, Problem
    from numascape.balance.graph import Cores
    from numascape.balance.simulation import Costs
    from numascape.commands._balance_input import Hosts

# The simulation of so many events takes a few seconds.
_MAX_EVENTS = 2_000_000


@dataclass(frozen=True)
class BalanceResults:
    """The mappings that were found for a problem on these hosts.

    `relabelled` are the migrations of each after its cores are renumbered.
    """

    problem: Problem
    hosts: Hosts
    rows: list[Balanced]
    relabelled: list[int]


def by_groups(
    problem: Problem,
    algorithm: str,
    groups: int | None,
    engine: tuple[str | None, bool],
    options: Options,
) -> list[Balanced]:
    """The result by groups of nodes, if `groups` asks for it. Raises NumascapeError."""
    from numascape.balance.hierarchy import balance_by_groups
    from numascape.balance.mapping import OURS
    from numascape.commands._jobs import engine_of

    if groups is None:
        if engine != (None, False):
            raise NumascapeError("--dask and --mpi need --groups: they balance groups of nodes")
        return []
    if algorithm != OURS:
        raise NumascapeError(f"--groups needs the algorithm {OURS}, not {algorithm}")
    target = problem.target
    if groups > target.nodes:
        raise NumascapeError(f"--groups {groups} is more than the {target.nodes} nodes")
    start = engine_of(*engine)
    with _processes(groups) if start is None else start() as executor:
        return [balance_by_groups(problem.graph, target, groups, executor, options, problem)]


def _processes(groups: int) -> Executor:
    """A pool of one process for each group, at most one for each CPU; or this process alone."""
    from numascape.jobs.engines import process_engine

    workers = min(groups, len(os.sched_getaffinity(0)))
    return process_engine(workers)() if workers > 1 else ThreadPoolExecutor(1)


def say_unused(options: Options, memory_limit: str | None) -> None:
    """Name the given options that have no effect on other algorithms than incumbent."""
    from numascape.balance import Options
    from numascape.balance.mapping import OURS

    plain = Options()
    given = {
        "--max-migrations": options.max_migrations != plain.max_migrations,
        "--migration-price": options.migration_price == options.migration_price,  # nan: not given
        "--iterations": options.iterations != plain.iterations,
        "--start": options.starts != plain.starts,
        "--effort": options.effort != plain.effort,
        "--time-limit": options.time_limit != plain.time_limit,
        "--threads": options.threads != plain.threads,
        "--memory-limit": memory_limit is not None,
    }
    if any(given.values()):
        names = ", ".join(name for name in given if given[name])
        terminal.say(f"note: only {OURS} uses {names}")


def print_table(results: BalanceResults) -> None:
    """The metrics of the present mapping and of each result."""
    problem, where = results.problem, results.hosts
    graph, target = problem.graph, problem.target
    nodes = counted(where.plain.nodes, "node")
    terminal.output().print(
        f"{graph.tasks} tasks, {graph.messages} messages, {target.cores} cores on "
        f"{nodes} of {terminal.printable(target.name)}"
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    names = ["imbalance", "communication", "off-node MB", "migrations", "relabelled", "ms"]
    names += _level_names(where) if where.levels else []
    names += ["memory", "beyond"] if len(target.core_memory) else []
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    now = problem.measure(graph.core)
    table.add_row("now", *_cells(now), "0", "", "", *_more(problem, graph.core, now, where))
    for row, least in zip(results.rows, results.relabelled, strict=True):
        m = row.metrics
        table.add_row(
            row.algorithm, *_cells(m), str(m.migrations), str(least),
            f"{1000 * row.seconds:.3f}", *_more(problem, row.mapping, m, where),
        )  # fmt: skip
    terminal.output().print(table)
    known = (graph.memory, graph.working, graph.block, graph.core_memory_taken)
    if len(target.core_memory) and not any(len(values) for values in known):
        terminal.say("note: the memory of these tasks is unknown: --memory-limit has no effect")
    if where.ignored and graph.messages:
        terminal.say(
            f"note: messages between all cores of a node cost the same: {', '.join(where.ignored)} "
            "of the machine have no effect (use --level-costs default to change it)"
        )
    for sentence in _full_nodes(problem):
        terminal.say(f"note: {sentence}")


def _full_nodes(problem: Problem) -> list[str]:
    """The nodes whose memory the present mapping exceeds: `incumbent` moves no task there."""
    graph, target = problem.graph, problem.target
    if not len(graph.memory) or not len(target.node_memory):
        return []
    needed = np.bincount(target.core_node[graph.core], graph.memory, target.nodes)
    over = np.flatnonzero(needed > target.node_memory)
    if not len(over):
        return []
    first = int(over[0])
    more = f" (and {counted(len(over) - 1, 'other node')} likewise)" if len(over) > 1 else ""
    return [
        f"the tasks on node {first} need {bytes_text(int(needed[first]))}, but it has "
        f"{bytes_text(int(target.node_memory[first]))}{more}: incumbent moves no task to a node "
        "whose memory is full"
    ]


def _cells(m: Metrics) -> list[str]:
    return [f"{m.imbalance:.3f}", f"{m.communication:.6g}", f"{m.off_node_bytes / 1e6:.4g}"]


def _level_names(where: Hosts) -> list[str]:
    from numascape.balance.place_levels import level_names

    names = level_names(where.levels, where.number)
    return [f"% {names[0]}", *names[1:]]


def _more(problem: Problem, mapping: Cores, m: Metrics, where: Hosts) -> list[str]:
    """The cells that depend on options: messages by level, and memory."""
    cells = [f"{100 * share:.0f}" for share in _level_shares(problem, mapping, where)]
    if len(problem.target.core_memory):
        cells += [
            bytes_text(m.core_memory),
            counted(m.cores_over, "core") if m.cores_over else "",
        ]
    return cells


def _level_shares(problem: Problem, mapping: Cores, where: Hosts) -> list[float]:
    """The shares of messages by level, if their costs depend on it."""
    from numascape.balance.place_levels import messages_by_level

    if not where.levels:
        return []
    shares = messages_by_level(problem.graph, mapping, where.levels)
    return list(shares.values())[: len(_level_names(where))]


def save_iterations(problem: Problem, balanced: Balanced, costs: list[float], file: Path) -> None:
    """Simulate iterations before and after the balancing, and draw them. Raises NumascapeError."""
    from numascape.balance.simulation import BEFORE_AND_AFTER, simulate_balancing
    from numascape.figures.timeline_picture import save_timeline

    graph = problem.graph
    events = sum(BEFORE_AND_AFTER) * (graph.tasks + 2 * graph.messages)
    if events > _MAX_EVENTS:
        raise NumascapeError(
            f"a timeline would have {events} events, more than {_MAX_EVENTS}: give fewer tasks"
        )
    run = simulate_balancing(
        graph, problem.target, balanced.mapping, balanced.seconds, _simulated_costs(costs)
    )
    before, after = run.iteration_times[0], run.iteration_times[-1]
    title = (
        f"{balanced.algorithm}, simulated: {before:.3g} s per iteration before, {after:.3g} s after"
    )
    save_timeline(run, title, file)


def _simulated_costs(costs: list[float]) -> Costs:
    """Messages that are only counted have no known cost: the usual one is assumed."""
    from numascape.balance.simulation import Costs

    return Costs() if costs == [1.0, 0.0] else Costs(per_message=costs[0], per_byte=costs[1])


def write_picture(results: BalanceResults, costs: list[float], graph: Path, file: Path) -> None:
    """The page of all results, or a picture of the first one, by the end of the file's name."""
    problem, where, rows = results.problem, results.hosts, results.rows
    if file.suffix.lower() != ".html":
        from numascape.figures.balance_picture import save_balance

        save_balance(problem, rows[0], file)
        terminal.say(f"wrote {file}")
        return
    from numascape.report.balance import Mapped, render_balance

    # The load of a thread is its accesses, so there is no time to simulate.
    threads = is_trace(graph)
    simulated = None if threads else _simulated_costs(costs)
    names = _level_names(where) if where.levels else []
    mappings = [problem.graph.core, *(row.mapping for row in rows)]
    mapped = Mapped(
        graph.name, problem, rows, results.relabelled, where.plain, simulated, threads, names,
        [_level_shares(problem, mapping, where) for mapping in mappings],
    )  # fmt: skip
    say_written(file, render_balance(mapped, file))
