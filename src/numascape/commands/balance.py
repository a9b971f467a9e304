# SPDX-License-Identifier: Apache-2.0
"""The verb `balance`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._balance_input import TargetOptions, hosts_and_tasks, numbers
from numascape.commands._balance_output import check_files, is_vt_mapping, write_mapping_files
from numascape.commands._balance_run import (
    BalanceResults,
    by_groups,
    print_table,
    save_iterations,
    say_unused,
    write_picture,
)
from numascape.commands._options import MachineOption, output_to
from numascape.errors import NumascapeError

INFINITE = float("inf")


def balance(
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help="Tasks: JSON, a folder of CSV tables, a matrix (.csv), an LBDump of Charm++, JSON "
            "of vt or LBAF (also .br), a METIS graph, a Scotch .grf, or a trace (its threads).",
            show_default=False,
        ),
    ],
    machine: MachineOption = None,
    hosts: Annotated[
        int | None,
        typer.Option(
            "--hosts",
            min=1,
            help="The number of such machines. Default: as many as the tasks' present cores need.",
            show_default=False,
        ),
    ] = None,
    factor: Annotated[
        float | None,
        typer.Option(
            "--factor",
            help="The NUMA factor between any two nodes. Default: the machine's factors; 2 where "
            "they are unknown.",
            show_default=False,
        ),
    ] = None,
    host_factor: Annotated[
        float | None,
        typer.Option(
            "--host-factor",
            help="The cost of a message between hosts, relative to one within a node. Default: 10.",
            show_default=False,
        ),
    ] = None,
    level_costs: Annotated[
        str | None,
        typer.Option(
            "--level-costs",
            metavar="COSTS",
            help="The cost of a message by level: within a core, a shared cache and a node, such "
            "as 0,1,3; or by name, such as core=0,L2=1,L3=2,node=4,package=6; or a file that "
            "`machine cores` wrote; or `measured`: the latencies in the machine's file, or those "
            "of this host; or `default`: measured latencies if the machine has them, otherwise "
            "assumed costs. Without this option, all messages within a node cost 1.",
            show_default=False,
        ),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm", "-a", metavar="NAME", help="The algorithm; docs/balance.md lists them."
        ),
    ] = "incumbent",
    compare: Annotated[
        bool, typer.Option("--compare", help="Print a table of the results of all algorithms.")
    ] = False,
    alpha: Annotated[
        float | None,
        typer.Option(
            "--alpha", help="NumaLB, NucoLB: the weight of a message.", show_default=False
        ),
    ] = None,
    max_imbalance: Annotated[
        float | None,
        typer.Option(
            "--max-imbalance",
            help="The aim: the time of the slowest core, divided by the mean time. Default: 1.05.",
            show_default=False,
        ),
    ] = None,
    max_migrations: Annotated[
        float | None,
        typer.Option(
            "--max-migrations",
            help="incumbent: the maximum number of migrations.",
            show_default=False,
        ),
    ] = None,
    migration_price: Annotated[
        float | None,
        typer.Option(
            "--migration-price",
            help="incumbent: the cost of a migration, in units of communication cost.",
            show_default=False,
        ),
    ] = None,
    iterations: Annotated[
        float,
        typer.Option(
            "--iterations",
            metavar="N",
            help="incumbent: iterations until the next balancing. A migration that only reduces "
            "communication must save its price within these iterations.",
        ),
    ] = 1.0,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="NAME",
            help="incumbent: start from this mapping: now, twolevel, twolevel-scotch, scratch, or "
            "an algorithm. May be repeated. Default: chosen by size.",
            show_default=False,
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="incumbent: the memory of each core's process, such as 8G; never exceeded. Files "
            "of vt and LBAF contain the memory of their tasks.",
            show_default=False,
        ),
    ] = None,
    effort: Annotated[
        float,
        typer.Option(
            "--effort",
            help="incumbent: a factor for the amount of work; 0: fastest, without annealing.",
        ),
    ] = 1.0,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="incumbent: stop after this time. The result then depends on the machine's speed.",
            show_default=False,
        ),
    ] = None,
    message_cost: Annotated[
        str,
        typer.Option(
            "--message-cost",
            metavar="S,S/BYTE",
            help="The cost of a message and of each byte, within a node.",
        ),
    ] = "1,0",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="NAME",
            help="The format of GRAPH, if its name does not show it.",
        ),
    ] = None,
    loads: Annotated[
        Path | None,
        typer.Option(
            "--loads",
            metavar="FILE",
            help="The load of each task, in the order of the tasks. For a GRAPH without loads, "
            "such as a matrix.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        int | None,
        typer.Option(
            "--groups",
            min=1,
            help="incumbent: divide the nodes into this many groups. Each group is balanced in a "
            "process of its own: for millions of tasks.",
            show_default=False,
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            "--dask-file",
            metavar="SCHEDULER",
            help="With --groups: use the workers of this Dask scheduler: HOST:8786, or FILE.json.",
            show_default=False,
        ),
    ] = None,
    mpi: Annotated[
        bool,
        typer.Option(
            "--mpi",
            help="With --groups: use MPI, under `mpirun -n N python -m mpi4py.futures -m "
            "numascape`.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        output_to("Write the mapping: .json, .csv, .map, or vt files: NAME.0.json."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            "-p",
            metavar="FILE",
            help="Write the page of the mappings (.html), or draw loads before and after, traffic "
            "and migrations (.svg, .png, .pdf).",
            show_default=False,
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Simulate iterations before and after, and draw what each core does: .svg, .png "
            "or .pdf.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="The same seed gives the same mapping.")
    ] = 1,
    threads: Annotated[
        int,
        typer.Option(
            "--threads", min=1, max=1024, help="incumbent: the number of threads that search."
        ),
    ] = 1,
) -> None:
    """Map tasks that exchange messages to the cores of a NUMA machine.

    Prints the metrics of the present and the new mapping: imbalance (slowest core over the mean),
    communication cost (message cost times NUMA factor), and migrations (tasks that move).
    Partitioners number their parts arbitrarily. The column "relabelled" has the migrations after
    renumbering.

    Example: `numascape balance tasks.json --machine numa32 --compare`
    """  # fmt: skip
    from numascape.balance import ALGORITHMS, Options, Problem
    from numascape.balance.mapping import OURS

    if algorithm not in ALGORITHMS:
        raise NumascapeError(
            f"there is no algorithm {algorithm!r}: choose one of {', '.join(ALGORITHMS)}"
        )
    vt = output is not None and is_vt_mapping(output, graph, form)
    check_files(output, vt, picture, timeline)
    place = TargetOptions(factor, hosts, host_factor, level_costs, memory_limit)
    where, tasks = hosts_and_tasks(machine, graph, form, loads, place)
    costs = numbers("--message-cost", message_cost, 2, "1e-6,2e-10")
    for cost in costs:
        _at_least("--message-cost", cost, 0, cost)
    problem = Problem(tasks, where.target, *costs)
    plain = Options()
    options = Options(
        alpha=_at_least("--alpha", alpha, 0, plain.alpha),
        max_imbalance=_at_least("--max-imbalance", max_imbalance, 1, plain.max_imbalance),
        max_migrations=_at_least("--max-migrations", max_migrations, 0, plain.max_migrations),
        migration_price=_at_least("--migration-price", migration_price, 0, plain.migration_price),
        iterations=_positive("--iterations", iterations),
        starts=tuple(start or ()),
        effort=_at_least("--effort", effort, 0, plain.effort),
        time_limit=_at_least("--time-limit", time_limit, 0, plain.time_limit),
        seed=seed,
        threads=threads,
    )
    if algorithm != OURS and not compare:
        say_unused(options, memory_limit)
    rows = by_groups(problem, algorithm, groups, (dask, mpi), options)
    names = [algorithm, *(name for name in ALGORITHMS if name != algorithm)]
    left = (names if compare else names[:1])[len(rows) :]
    rows += [problem.run(name, options) for name in left]
    relabelled = [problem.relabelled_migrations(row.mapping) for row in rows]
    results = BalanceResults(problem, where, rows, relabelled)
    print_table(results)
    if output is not None:
        for file in write_mapping_files(output, graph if vt else None, problem, rows[0]):
            terminal.say(f"wrote {file}")
    if picture is not None:
        write_picture(results, costs, graph, picture)
    if timeline is not None:
        save_iterations(problem, rows[0], costs, timeline)
        terminal.say(f"wrote {timeline}")


def _at_least(option: str, value: float | None, smallest: float, unset: float) -> float:
    """The value of an option; `unset` if it is not given. Raises NumascapeError."""
    if value is None:
        return unset
    if not smallest <= value < INFINITE:  # nan is refused, too
        raise NumascapeError(f"{option} {value:g} is not a number of at least {smallest:g}")
    return value


def _positive(option: str, value: float) -> float:
    if not 0 < value < INFINITE:
        raise NumascapeError(f"{option} {value:g} is not a number above 0")
    return value
