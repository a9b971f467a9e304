# SPDX-License-Identifier: Apache-2.0
"""Decides on which node of a machine each thread of a trace would run."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from numascape.errors import NumascapeError
from numascape.machine import Machine
from numascape.machine.description import cpu_nodes, same_nodes
from numascape.machine.kernel_lists import parse_cpu_list
from numascape.plan.plan import Plan, ThreadRule
from numascape.trace import Trace
from numascape.trace.teams import first_in_places

NodeArray = npt.NDArray[np.int64]
"""The node's number of each thread; -1: spread over all nodes with CPUs."""
LayoutName = Literal["compact", "scatter", "numbered", "anywhere"]
LAYOUTS: Final[dict[str, LayoutName]] = {name: name for name in get_args(LayoutName)}

_LARGEST_MAP: Final = 16 << 20


def laid_out(threads: int, machine: Machine, layout: LayoutName = "compact") -> NodeArray:
    """The nodes of threads 0, 1, 2, ... by a rule.

    - compact: neighbours are close to each other. Threads are spread evenly over all usable CPUs in
      the order of nodes: thread i of n is on CPU i * CPUs // n.
    - scatter: round-robin over the nodes, as the kernel starts threads on the idlest node.
    - numbered: thread i is on the i-th usable CPU by number, as with GOMP_CPU_AFFINITY=0-63.
    - anywhere: -1.
    """
    if layout == "anywhere":
        return np.full(threads, -1, np.int64)
    usable = set(machine.usable_cpus)
    per_node = [(node.node, len(usable & set(node.cpus))) for node in machine.nodes]
    per_node = [(number, cpus) for number, cpus in per_node if cpus]
    if not per_node:
        raise NumascapeError(f"{machine.name} has no CPU for threads to run on")
    if layout == "numbered":
        node_of = cpu_nodes(machine)
        order = [node_of[cpu] for cpu in machine.usable_cpus]
        return np.array([order[i % len(order)] for i in range(threads)], np.int64)
    if layout == "compact":
        cpus = np.repeat([node for node, _ in per_node], [count for _, count in per_node])
        return np.asarray(cpus[np.arange(threads) * len(cpus) // max(threads, 1)], np.int64)
    rounds = max(count for _, count in per_node)
    order = [node for turn in range(rounds) for node, count in per_node if turn < count]
    return np.array([order[i % len(order)] for i in range(threads)], np.int64)


def laid_out_places(trace: Trace, machine: Machine) -> NodeArray:
    """Compact; threads with the same place in successive teams are on the same node."""
    numbers = np.arange(trace.threads.height)
    first = first_in_places(trace)
    taken = np.array([first.get(thread, thread) for thread in numbers.tolist()], np.int64)
    used, place = np.unique(taken, return_inverse=True)
    return np.asarray(laid_out(len(used), machine)[place], np.int64)


def observed_nodes(trace: Trace, machine: Machine) -> NodeArray:
    """The node each thread was seen on; compact if the trace is from another machine.

    A thread that was seen on several nodes, or on none, has -1 (anywhere).
    """
    if not same_nodes(trace.info.machine, machine):
        return laid_out_places(trace, machine)
    seen = trace.threads["nodes"].to_list()
    return np.array([nodes[0] if len(set(nodes)) == 1 else -1 for nodes in seen], np.int64)


def nodes_by_plan(trace: Trace, plan: Plan, machine: Machine) -> NodeArray:
    """The nodes of threads by the plan's rules; compact for threads without a rule.

    OpenMP's numbers are assumed to be in order of creation, which is true if all threads of the
    program are in one team.
    """
    threads = trace.threads.height
    nodes = laid_out(threads, machine)
    node_of = cpu_nodes(machine)
    names = trace.threads["name"].to_list()
    # If the number of threads differs from the recorded one, each takes the place of a recorded
    # one.
    place = np.arange(threads)
    if plan.recorded_threads:
        place = place * plan.recorded_threads // max(threads, 1)
    for rule in reversed(plan.threads):
        for thread in range(threads):
            at = _turn(rule, int(place[thread]), thread, names)
            if at is None or not rule.cpus:
                continue
            cpus = rule.cpus if rule.together else (rule.cpus[at % len(rule.cpus)],)
            missing = next((cpu for cpu in cpus if cpu not in node_of), None)
            if missing is not None:
                raise NumascapeError(
                    f"the plan names CPU {missing}, which {machine.name} does not have"
                )
            on = {node_of[cpu] for cpu in cpus}
            nodes[thread] = on.pop() if len(on) == 1 else -1
    return nodes


def _turn(rule: ThreadRule, place: int, thread: int, names: list[str]) -> int | None:
    """The position of this thread among the rule's threads; None if it is not one of them."""
    if rule.name:
        mine = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, rule.name)]
        return mine.index(thread) if thread in mine else None
    numbers = parse_cpu_list(rule.order or rule.openmp)
    return numbers.index(place) if place in numbers else None


def read_thread_map(path: Path, threads: int) -> NodeArray:
    """Read the node of each thread from text: one per line, or `thread node`; `#` is a comment."""
    try:
        if path.stat().st_size > _LARGEST_MAP:
            raise NumascapeError(f"{path} is not a thread map: it is larger than 16 MiB")
        text = path.read_text(errors="replace")
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    rows = [line for line in lines if line]
    nodes = np.full(threads, -1, np.int64)
    for number, row in enumerate(rows):
        try:
            values = [int(word) for word in row]
        except ValueError:
            values = []
        thread, node = (number, values[0]) if len(values) == 1 else (*values, -1, -1)[:2]
        if not values or len(values) > 2 or node < -1 or node >= 1 << 31:
            raise NumascapeError(
                f"{path}, entry {number + 1}: expected a node's number, or thread and node"
            )
        if not 0 <= thread < threads:
            raise NumascapeError(
                f"{path}, entry {number + 1}: there is no thread {thread}; the trace has {threads}"
            )
        nodes[thread] = node
    return nodes
