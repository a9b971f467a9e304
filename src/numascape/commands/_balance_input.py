# SPDX-License-Identifier: Apache-2.0
"""Reads the input of the verb `balance`: tasks, and the hosts that run them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from numascape import terminal
from numascape.errors import NumascapeError
from numascape.quantities import parse_bytes

if TYPE_CHECKING:
    from numascape.balance import Target, TaskGraph
    from numascape.balance.levels import LevelCosts
    from numascape.balance.place_levels import PlaceLevel
    from numascape.machine import Machine
    from numascape.machine.core_latencies import CoreLatencies


@dataclass(frozen=True)
class TargetOptions:
    """The options of the verb that choose the cores and the cost of messages between them."""

    factor: float | None
    hosts: int | None
    host_factor: float | None
    level_costs: str | None
    memory_limit: str | None


@dataclass(frozen=True, eq=False)
class Hosts:
    """The cores of the hosts; `plain` is the same target without costs by level.

    `levels` are those of the cores, or none without costs by level. `ignored` are then the names of
    the levels inside the nodes: messages between any two cores of a node cost the same.
    """

    target: Target
    plain: Target
    number: int
    levels: Sequence[PlaceLevel]
    ignored: Sequence[str]


def hosts_and_tasks(
    machine: str | None, graph: Path, form: str | None, loads: Path | None, given: TargetOptions
) -> tuple[Hosts, TaskGraph]:
    """Hosts with as many cores as the tasks need, and the tasks. Says what is assumed."""
    from numascape.balance.levels import inside_node, with_levels
    from numascape.balance.place_levels import place_levels
    from numascape.balance.target import USUAL_HOST_FACTOR, several_hosts
    from numascape.machine import open_machine

    described = open_machine(machine)
    one, costs = one_host(described, machine, given)
    tasks = _tasks(graph, one.cores * (given.hosts or 1), form)
    needed = int(tasks.core.max(initial=0)) // one.cores + 1
    hosts = given.hosts or needed
    if hosts < needed:
        raise NumascapeError(
            f"--hosts {hosts} is too few: the tasks are on cores of {needed} hosts"
        )
    if given.hosts is None and hosts > 1:
        terminal.say(
            f"the tasks are on more cores than one {terminal.printable(one.name)} has: "
            f"{hosts} hosts are assumed (use --hosts to change it)"
        )
        tasks = _tasks(graph, one.cores * hosts, form)
    if loads is not None:
        from numascape.balance.formats.loads import with_loads

        tasks = with_loads(tasks, loads)
    between = USUAL_HOST_FACTOR if given.host_factor is None else given.host_factor
    plain = several_hosts(one, hosts, between)
    every = place_levels(plain, described, hosts)
    levels = [] if costs is None else every
    target = plain if costs is None else with_levels(plain, levels, costs)
    if given.memory_limit is not None:
        import numpy as np

        limit = float(parse_bytes(given.memory_limit))
        target = replace(target, core_memory=np.full(target.cores, limit))
    return Hosts(target, plain, hosts, levels, [] if levels else inside_node(every)), tasks


def one_host(
    machine: Machine, source: str | None, given: TargetOptions
) -> tuple[Target, LevelCosts | None]:
    """The target of one host, with a factor that is assumed if need be, and the costs by level."""
    from numascape.balance.levels import measured_costs
    from numascape.balance.place_levels import place_levels

    latencies = _latencies(machine, source, given.level_costs)
    one = _with_factors(machine, given.factor, latencies is not None)
    levels = place_levels(one, machine)
    if latencies is not None:
        measured, costs = measured_costs(one, levels, latencies)
        _say_costs(costs, "by measured latencies")
        return (measured if given.factor is None else one), costs
    if given.level_costs is None:
        return one, None
    return one, _given_costs(given.level_costs, levels)


def _with_factors(machine: Machine, factor: float | None, measured: bool) -> Target:
    """The target of one host with the given factor or its own; says what is assumed or replaced."""
    from numascape.balance.target import USUAL_FACTOR, target_of_machine, with_factor

    name = terminal.printable(machine.name)
    if factor is not None:
        known = target_of_machine(machine, factor)
        replaced = with_factor(known, factor)
        if (replaced.factor != known.factor).any():
            terminal.say(f"note: --factor {factor:g} replaces the NUMA factors of {name}")
        return replaced
    try:
        return target_of_machine(machine)
    except NumascapeError as error:
        if "NUMA factors" not in str(error):
            raise
    if not measured:
        terminal.say(
            f"the NUMA factors of {name} are unknown: {USUAL_FACTOR:g} is assumed (use --factor "
            "to change it)"
        )
    return target_of_machine(machine, USUAL_FACTOR)


def _given_costs(words: str, levels: Sequence[PlaceLevel]) -> LevelCosts:
    """The costs in words of --level-costs: assumed ones, three numbers, or some with names."""
    from numascape.balance.levels import assumed_costs, named_costs, three_costs

    if words == "default":
        costs = assumed_costs(levels)
        _say_costs(costs, "as assumed: the machine has no latencies between cores")
        return costs
    if "=" in words:
        return named_costs(words, levels)
    return three_costs(numbers("--level-costs", words, 3, "0,1,3"), levels)


def _say_costs(costs: LevelCosts, source: str) -> None:
    listed = ", ".join(f"{cost:.3g} within a {name}" for name, cost in costs.by_name.items())
    terminal.say(f"a message costs {listed}, {source}")


def _latencies(machine: Machine, source: str | None, words: str | None) -> CoreLatencies | None:
    """The latencies between cores that --level-costs names: a CSV file, the machine's, this host's.

    None if costs are given in another way, or `default` finds none.
    """
    from numascape.machine.core_latencies import (
        measure_core_latencies,
        read_core_latencies,
        stored_core_latencies,
    )

    if words in ("measured", "default") and machine.core_latencies is not None:
        return stored_core_latencies(machine.core_latencies)
    if words == "measured":
        if source is not None:
            raise NumascapeError(
                f"{terminal.printable(machine.name)} has no latencies between cores, and "
                "--level-costs measured can measure only this host: leave out --machine, or give "
                "the file that `numascape machine cores` wrote on the machine"
            )
        return measure_core_latencies(machine)
    if words is not None and words.lower().endswith(".csv"):
        return read_core_latencies(Path(words))
    return None


def _tasks(path: Path, cores: int, form: str | None) -> TaskGraph:
    """The tasks of a file, or the threads of a trace."""
    from numascape.balance.formats import read_graph
    from numascape.balance.threads import thread_graph
    from numascape.trace import Trace

    if form is None and is_trace(path):
        return thread_graph(Trace.read(path), cores)
    return read_graph(path, cores, form)


def is_trace(path: Path) -> bool:
    """Whether this is a trace, whose threads are the tasks."""
    return (path / "trace.json").exists()


def numbers(option: str, text: str, count: int, example: str) -> list[float]:
    """Read this many numbers with commas from an option. Raises NumascapeError."""
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
