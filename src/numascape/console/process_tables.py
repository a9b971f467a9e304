# SPDX-License-Identifier: Apache-2.0
"""Tables of the nodes, the processes and the threads that are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from numascape.console.structure_table import node_columns
from numascape.console.tables import name, table_of
from numascape.live.snapshot import Snapshot
from numascape.live.structures import ProcessOnNode, bound_threads
from numascape.live.threads import Thread
from numascape.live.together import ProcessSums, bytes_by_node
from numascape.machine.kernel_lists import format_cpu_list
from numascape.quantities import bytes_text, counted

_UNLIMITED: Final = 10_000
# Characters of the columns of processes without those of the nodes.
_OF_SUMS: Final = 48


def node_table(uses: Iterable[ProcessOnNode], snapshots: Sequence[Snapshot]) -> Table:
    """The nodes with the memory and the threads of all these processes."""
    bound = bound_threads(snapshots)
    huge_told = all(one.huge_told for one in snapshots)
    nodes = snapshots[0].nodes
    rows = [
        (
            f"node {use.node}" if use.node >= 0 else "unknown",
            bytes_text(use.anonymous),
            bytes_text(use.mapped_file),
            bytes_text(use.huge) if huge_told or use.huge else "?",
            str(use.threads),
            str(bound.get(use.node, 0)),
            format_cpu_list(nodes.get(use.node, ())),
        )
        for use in uses
    ]
    headings = ("", "anonymous", "files", "in huge pages", "threads", "bound here", "CPUs")
    return table_of(headings, rows, _UNLIMITED, text=("", "CPUs"))


def process_table(
    processes: Sequence[ProcessSums],
    joint: ProcessSums,
    nodes: Sequence[int],
    console: Console,
    top: int,
) -> Table:
    """The `top` largest processes, the sum of the others, and `joint`, the sum of all."""
    ordered = sorted(processes, key=lambda one: one.order)
    shown = [(f"{one.target.pid} {one.target.name}", one) for one in ordered[:top]]
    rest = ordered[top:]
    if rest:
        shown.append((counted(len(rest), "more process"), _added(rest)))
    shown.append(("together", joint))
    every = [one for _, one in shown]
    columns = [
        ("process", [name(label) for label, _ in shown]),
        ("anonymous", [bytes_text(one.anonymous) for one in every]),
        ("files", [bytes_text(one.files) for one in every]),
        ("shared", [bytes_text(one.shared) for one in every]),
        *node_columns([one.nodes for one in every], nodes, console.width, _OF_SUMS),
        ("threads", [str(one.threads) for one in every]),
    ]
    headings = [heading for heading, _ in columns]
    rows = list(zip(*(column for _, column in columns), strict=True))
    return table_of(headings, rows, console.width, text=("process", "largest shares"))


def _added(processes: Sequence[ProcessSums]) -> ProcessSums:
    return ProcessSums(
        processes[0].target,
        sum(one.anonymous for one in processes),
        sum(one.files for one in processes),
        bytes_by_node(pair for one in processes for pair in one.shared_nodes.items()),
        bytes_by_node(pair for one in processes for pair in one.nodes.items()),
        sum(one.threads for one in processes),
    )


def threads_by_node(snapshot: Snapshot, console: Console, top: int) -> Table:
    """The threads by node, those with one name together; at most `top` rows, and one of others."""
    groups: dict[tuple[int, str, tuple[int, ...]], list[Thread]] = {}
    for thread in snapshot.threads:
        groups.setdefault((thread.node, thread.name, thread.cpus), []).append(thread)
    ordered = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1]))
    rows = [
        (
            f"node {node}" if node >= 0 else "unknown",
            str(len(threads)),
            name(called),
            _tids(threads),
            _allowed(cpus, snapshot.nodes),
        )
        for (node, called, cpus), threads in ordered[:top]
    ]
    rest = [thread for _, threads in ordered[top:] for thread in threads]
    if rest:
        rows.append(("others", str(len(rest)), "", _tids(rest), ""))
    headings = ("ran on", "threads", "name", "numbers", "may run on CPUs")
    return table_of(headings, rows, console.width, text=("ran on", "name", *headings[3:]))


def _tids(threads: Sequence[Thread]) -> str:
    return format_cpu_list(sorted(thread.tid for thread in threads))


def _allowed(cpus: Sequence[int], nodes: Mapping[int, tuple[int, ...]]) -> str:
    every = {cpu for of_node in nodes.values() for cpu in of_node}
    return "all" if every and every <= set(cpus) else format_cpu_list(cpus)
