# SPDX-License-Identifier: Apache-2.0
"""What the verb `balance` reads: tasks, and the hosts that run them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from numascape import terminal
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.balance import Target, TaskGraph
    from numascape.machine import Machine


def target_and_tasks(
    machine: Machine,
    graph: Path,
    form: str | None,
    given: tuple[float | None, int | None, float | None],
) -> tuple[Target, TaskGraph]:
    """Hosts with as many cores as the tasks need, and the tasks. Says what is assumed."""
    from numascape.balance.target import (
        USUAL_FACTOR,
        USUAL_HOST_FACTOR,
        several_hosts,
        target_of_machine,
    )

    factor, hosts, host_factor = given
    try:
        one = target_of_machine(machine, factor)
    except NumascapeError as error:
        if factor is not None or "NUMA factors" not in str(error):
            raise
        one = target_of_machine(machine, USUAL_FACTOR)
        terminal.say(
            f"the NUMA factors of {terminal.printable(machine.name)} are unknown: {USUAL_FACTOR:g} "
            "is assumed (use --factor to change it)"
        )
    tasks = _tasks(graph, one.cores * (hosts or 1), form)
    if hosts is None:
        hosts = int(tasks.core.max(initial=0)) // one.cores + 1
        if hosts > 1:
            terminal.say(
                f"the tasks are on more cores than one {terminal.printable(machine.name)} has: "
                f"{hosts} hosts are assumed (use --hosts to change it)"
            )
            tasks = _tasks(graph, one.cores * hosts, form)
    between = USUAL_HOST_FACTOR if host_factor is None else host_factor
    return several_hosts(one, hosts, between), tasks


def _tasks(path: Path, cores: int, form: str | None) -> TaskGraph:
    """The tasks of a file, or the threads of a trace."""
    from numascape.balance.formats import read_graph
    from numascape.balance.threads import thread_graph
    from numascape.trace import Trace

    if form is None and (path / "trace.json").exists():
        return thread_graph(Trace.read(path), cores)
    return read_graph(path, cores, form)


def numbers(option: str, text: str, count: int, example: str) -> list[float]:
    """Read so many numbers with commas from an option. Raises NumascapeError."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count:
        words = {2: "two", 3: "three"}[count]
        raise NumascapeError(
            f"{option} {text[:40]!r} is not {words} numbers with commas, such as {example}"
        )
    return values
