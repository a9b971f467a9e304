# SPDX-License-Identifier: Apache-2.0
"""The page of mappings, in the viewer: their metrics, loads, traffic, migrations, and a simulation.

The first mapping is the present one. All others are compared with it.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from numascape.analysis.text import short_printable
from numascape.balance import Balanced, Metrics, Problem, Target
from numascape.balance.between_nodes import migrations_between, traffic_between
from numascape.balance.graph import Cores, Floats
from numascape.balance.simulation import (
    BEFORE_AND_AFTER,
    Costs,
    Simulation,
    simulate_balancing,
)
from numascape.errors import NumascapeError
from numascape.report.core_activity import Activity, activity_of, join_activities
from numascape.report.encode import Planes, compressed
from numascape.report.render import SIZE, filled, viewer_page, write_page
from numascape.report.run import plain

FORMAT: Final = "numascape-balance"
VERSION: Final = 1
NOW: Final = "now"
PARTS: Final = (1200, 600, 300, 0)
"""Parts of the simulated time to try until the page fits; 0: without the simulation."""
MAX_EVENTS: Final = 400_000
"""Maximum number of simulated events of all mappings together; they take a few seconds."""
MAX_BARS: Final = 1024
MAX_ROWS: Final = 128
MAX_NODES: Final = 32
"""Maximum number of bars of loads, rows of the simulation, and rows of matrices; more are put
together."""
_LONGEST_NAME: Final = 400


@dataclass(frozen=True, eq=False)
class Mapped:
    """Mappings of the tasks of a problem, without the present one, which is always shown.

    `relabelled` are the migrations of each after its cores are renumbered (slow for many cores).
    `nodes` is the target without costs by level: its nodes are those of the hosts. `level_shares`
    are the shares of messages by level of each mapping, also of the present one, if there are
    costs by level. `costs` are those of the simulation; without them, nothing is simulated.
    """

    file: str
    problem: Problem
    results: Sequence[Balanced]
    relabelled: Sequence[int]
    nodes: Target
    costs: Costs | None
    are_threads: bool = False
    levels: Sequence[str] = ()
    level_shares: Sequence[Sequence[float]] = ()


def render_balance(mapped: Mapped, path: Path) -> int:
    """Write the page, at most SIZE bytes, and return its size. Raises NumascapeError."""
    template = viewer_page()
    title = html.escape(f"{mapped.file[:200]} on {mapped.problem.target.name[:200]}")
    runs = simulations(mapped)
    for parts in PARTS:
        planes = Planes()
        data = balance_data(mapped, runs, parts, planes)
        page = filled(template, title, compressed(planes.block(data)), {})
        if len(page) <= SIZE:
            write_page(page, path)
            return len(page)
    raise NumascapeError(f"the page does not fit into {SIZE} bytes: leave out --compare")


def balance_data(
    mapped: Mapped, runs: Sequence[Simulation | None], parts: int, planes: Planes
) -> dict[str, Any]:
    """The page's data; its cells of activity are put into `planes`."""
    problem, results = mapped.problem, _with_present(mapped)
    graph, target = problem.graph, problem.target
    cores_per_bar, cores_per_row = -(-target.cores // MAX_BARS), -(-target.cores // MAX_ROWS)
    activity, timelines = _timelines(runs, cores_per_row, parts)
    data = {
        "file": _name(mapped.file),
        "target": _name(target.name),
        "tasks": graph.tasks,
        "are_threads": mapped.are_threads,
        "messages": graph.messages,
        "cores": target.cores,
        "node_count": mapped.nodes.nodes,
        "unit": _unit(mapped),
        "groups": _group_names(mapped.nodes.nodes),
        "levels": list(mapped.levels),
        "has_memory": len(target.core_memory) > 0,
        "cores_per_bar": cores_per_bar,
        "bar_nodes": mapped.nodes.core_node[::cores_per_bar].tolist(),
        "cores_per_row": cores_per_row,
        "row_nodes": mapped.nodes.core_node[::cores_per_row].tolist(),
        "parts": parts,
        "before": BEFORE_AND_AFTER[0],
        "results": [
            {**_result(mapped, one, number), "timeline": timelines[number]}
            for number, one in enumerate(results)
        ],
    }
    return {
        "format": FORMAT, "version": VERSION, **plain(data), "activity": planes.table(activity),
    }  # fmt: skip


def _with_present(mapped: Mapped) -> list[Balanced]:
    now = mapped.problem.graph.core
    return [Balanced(NOW, now, mapped.problem.measure(now), 0.0), *mapped.results]


def _result(mapped: Mapped, one: Balanced, number: int) -> dict[str, Any]:
    problem, nodes = mapped.problem, mapped.nodes
    before, m = problem.graph.core, one.metrics
    return {
        "label": _name(one.algorithm),
        "imbalance": m.imbalance,
        "communication": m.communication,
        "off_node": m.off_node_bytes,
        "migrations": m.migrations,
        "relabelled": mapped.relabelled[number - 1] if number else 0,
        "migrated_bytes": m.migrated_bytes,
        "milliseconds": 1000 * one.seconds,
        "core_memory": m.core_memory,
        "cores_over": m.cores_over,
        "levels": list(mapped.level_shares[number]) if mapped.levels else [],
        "loads": _loads(problem, one.mapping, m),
        "traffic": _grouped(traffic_between(problem.graph, nodes, one.mapping)),
        "moves": _grouped(migrations_between(nodes, before, one.mapping)),
    }


def _loads(problem: Problem, mapping: Cores, metrics: Metrics) -> list[float]:
    """Each core's time, where 1 is perfect balance; of several cores, the longest time."""
    times = problem.core_times(mapping)
    longest = float(times.max(initial=0.0))
    ideal = longest / metrics.imbalance if metrics.imbalance > 0 else 0.0
    relative = times / ideal if ideal > 0 else np.zeros(len(times))
    size = -(-problem.target.cores // MAX_BARS)
    bars = np.maximum.reduceat(relative, np.arange(0, len(relative), size))
    return [float(value) for value in np.round(bars, 4)]


def _unit(mapped: Mapped) -> str:
    if mapped.problem.graph.bytes.any():
        return "bytes"
    return "shared accesses" if mapped.are_threads else "messages"


def _group_names(nodes: int) -> list[str]:
    """The rows of matrices: a node, or neighbouring nodes, such as 4-7."""
    size = -(-nodes // MAX_NODES)
    spans = [(first, min(first + size, nodes) - 1) for first in range(0, nodes, size)]
    return [f"{first}" if first == last else f"{first}-{last}" for first, last in spans]


def _grouped(matrix: Floats) -> list[list[float]]:
    size = -(-len(matrix) // MAX_NODES)
    starts = np.arange(0, len(matrix), size)
    sums = np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)
    return [[float(value) for value in row] for row in sums]


def simulations(mapped: Mapped) -> list[Simulation | None]:
    """Iterations before and after each mapping. Mappings that would take too long are left out."""
    graph = mapped.problem.graph
    events = sum(BEFORE_AND_AFTER) * (graph.tasks + 2 * graph.messages)
    return [
        None
        if mapped.costs is None or (number + 1) * events > MAX_EVENTS
        # The time of the balancer itself may be much longer than iterations, so it is not
        # simulated.
        else simulate_balancing(graph, mapped.problem.target, one.mapping, 0.0, mapped.costs)
        for number, one in enumerate(_with_present(mapped))
    ]


def _timelines(
    runs: Sequence[Simulation | None], cores_per_row: int, parts: int
) -> tuple[Activity, list[dict[str, Any] | None]]:
    """The cells of all simulations, and for each of them where its cells begin."""
    activities: list[Activity] = []
    timelines: list[dict[str, Any] | None] = []
    at = 0
    for run in runs:
        if run is None or parts == 0 or run.end <= 0:
            timelines.append(None)
            continue
        activities.append(activity_of(run, cores_per_row, parts))
        timelines.append({"at": at, "end": run.end, "ends": run.iteration_ends,
                          "times": run.iteration_times})  # fmt: skip
        at += len(activities[-1].work)
    return join_activities(activities), timelines


def _name(text: str) -> str:
    return short_printable(text, _LONGEST_NAME)
