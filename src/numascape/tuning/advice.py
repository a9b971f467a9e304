# SPDX-License-Identifier: Apache-2.0
"""Advises which pages and threads of a recorded process should move, and predicts the gain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from numascape.errors import NumascapeError
from numascape.findings.thresholds import MIN_RELEVANT_GAIN
from numascape.host.node_memory import read_nodes
from numascape.live.affinity import ThreadMove
from numascape.live.mappings import read_mappings
from numascape.live.page_sets import PagesToMove, find_pages
from numascape.live.parts import Namer
from numascape.live.plans import Move
from numascape.live.room import usable_nodes
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread, read_threads
from numascape.machine import Machine
from numascape.machine.sources import read_host
from numascape.placement.planning import make_plan
from numascape.prediction.demand import demand_of
from numascape.prediction.layout import NodeArray, nodes_by_plan, observed_nodes
from numascape.prediction.load import RunPlacement
from numascape.prediction.model import Prediction, predict
from numascape.prediction.policies import observed, placed_by_plan, replaced
from numascape.prediction.speeds import speeds_of
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES
from numascape.tuning.addresses import LivingTrace, living_trace
from numascape.tuning.placements import (
    StructureAdvice,
    known_rules,
    placements,
    structure_advice,
)


@dataclass(frozen=True)
class Advice:
    """The move, and the predictions for the process as it is and after the move.

    `after` is None if nothing is worth moving.
    """

    move: Move
    structures: tuple[StructureAdvice, ...]
    now: Prediction
    after: Prediction | None


def saves_time(after: Prediction) -> bool:
    """Whether the slowest thread or memory needs less time after the move."""
    return after.relative <= 1.0 - MIN_RELEVANT_GAIN


def share_of_threads(now: Prediction, after: Prediction) -> float:
    """The time of all threads together after the move, relative to that before it."""
    return after.all_threads / now.all_threads if now.all_threads else 1.0


def is_worth_moving(now: Prediction, after: Prediction) -> bool:
    """Whether the move saves time, or lets threads that do not wait for each other do more.

    While it was observed, each such thread did as much work as it could. A thread with near memory
    did more work than the others. The prediction is for the same work, so this thread is then the
    slowest one, and gains nothing.
    """
    threads_gain = share_of_threads(now, after) <= 1.0 - MIN_RELEVANT_GAIN
    nobody_loses = after.relative < 1.0 + MIN_RELEVANT_GAIN
    return saves_time(after) or (threads_gain and nobody_loses)


def check_several_nodes(target: TargetProcess) -> None:
    """Raise NumascapeError if the process can use one node only."""
    usable = usable_nodes(target)
    if len(usable) < 2:
        listed = ", ".join(map(str, usable)) or "none"
        raise NumascapeError(
            f"{target} may use the memory of one node only ({listed}): there is nothing to move"
        )


def advise(trace: Trace, target: TargetProcess) -> Advice:
    """Plan for a process as it was recorded just now. Raises NumascapeError."""
    mappings, threads = read_mappings(target, with_policies=False), read_threads(target)
    if not mappings:
        raise NumascapeError(f"{target} has ended")
    living = living_trace(trace, target.pid, mappings, Namer(target).parts(mappings, threads))
    machine = _machine(living, target, threads)
    plan = make_plan(living, machine)
    nodes, seen = nodes_by_plan(living, plan, machine), observed_nodes(living, machine)
    is_now = observed(living, machine, seen)
    rules = known_rules(living, plan)
    planned = placed_by_plan(living, plan, machine, None, nodes)
    then = replaced(is_now, planned, list(rules))
    speeds = speeds_of(machine)
    demand = demand_of(living, speeds)
    now = predict(demand, speeds, RunPlacement(is_now, seen, label="as it is"))
    after = predict(
        demand, speeds, RunPlacement(then, nodes, label="after the move"), reference=now
    )
    if not is_worth_moving(now, after):
        return Advice(Move(target, PagesToMove((), 0), ()), (), now, None)
    pages = find_pages(target, mappings, list(placements(living, mappings, rules, planned)))
    moved = {one.name for one in pages.sets}
    about = [one for one in structure_advice(living, rules) if one.name in moved]
    bound = _threads(living, machine, threads, nodes)
    return Advice(Move(target, pages, tuple(bound)), tuple(about), now, after)


def _machine(living: LivingTrace, target: TargetProcess, threads: Sequence[Thread]) -> Machine:
    """This host with the nodes, memory and CPUs that the process may use.

    The memory of a node is its free memory, and what the process has there.
    """
    host = read_host()
    usable = set(usable_nodes(target))
    free = {node.node: node.usable for node in read_nodes(target.root) if node.node in usable}
    held = dict(living.placement.group_by("node").len().iter_rows())
    room = {node: size + PAGE_BYTES * held.get(node, 0) for node, size in free.items()}
    # A size of 0 would be an unknown one.
    nodes = [replace(node, memory_bytes=max(1, room.get(node.node, 0))) for node in host.nodes]
    allowed = {cpu for thread in threads for cpu in thread.cpus} & set(host.cpus)
    return replace(host, nodes=tuple(nodes), allowed_cpus=tuple(sorted(allowed)) or None)


def _threads(
    living: LivingTrace, machine: Machine, threads: Sequence[Thread], nodes: NodeArray
) -> Iterator[ThreadMove]:
    """The threads that used memory, each on those CPUs of its node that the process may use."""
    of_node = {node.node: set(node.cpus) & set(machine.usable_cpus) for node in machine.nodes}
    by_tid = {thread.tid: thread for thread in threads}
    working = set(living.accesses["thread"].to_list())
    for number, tid in living.threads.select("thread", "os_tid").iter_rows():
        thread = by_tid.get(tid)
        wanted = of_node.get(int(nodes[number]), set())
        if thread is None or number not in working or not wanted or set(thread.cpus) <= wanted:
            continue
        cpus = tuple(sorted(wanted))
        yield ThreadMove(thread.tid, thread.name, thread.started, thread.cpus, cpus)
