# SPDX-License-Identifier: Apache-2.0
"""Moves the threads of a running process: sched_setaffinity(2)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from numascape.errors import NumascapeError
from numascape.live.policies import MovePolicy
from numascape.live.refusals import affinity_refused
from numascape.live.targets import TargetProcess, read_stat
from numascape.live.threads import Thread, read_threads
from numascape.plan.number_lists import parse_numbers
from numascape.plan.plan import Plan, ThreadRule


@dataclass(frozen=True)
class ThreadMove:
    """A thread (`started` distinguishes it from a later one), its CPUs before, and those wanted."""

    tid: int
    name: str
    started: int
    before: tuple[int, ...]
    wanted: tuple[int, ...]


@dataclass(frozen=True)
class ThreadResults:
    """The number of threads with the wanted CPUs, and of the others by the reason."""

    moved: int
    failed: dict[str, int]


def by_policy(
    threads: Sequence[Thread], policy: MovePolicy, cpus: Mapping[int, tuple[int, ...]]
) -> list[ThreadMove]:
    """All threads on the CPUs of the policy's nodes.

    With bind, each may run on all of them; with local, each stays on the node of its last CPU;
    otherwise they are divided among the nodes in order of creation.
    """
    nodes = [node for node in policy.nodes if cpus.get(node)]
    if not nodes:
        raise NumascapeError(f"no thread can run on nodes {policy.nodes}: they have no CPUs")
    every = tuple(sorted(cpu for node in nodes for cpu in cpus[node]))
    moves = []
    for number, thread in enumerate(threads):
        if policy.name == "bind":
            wanted = every
        elif policy.name == "local" and thread.node in nodes:
            wanted = cpus[thread.node]
        else:
            wanted = cpus[nodes[number * len(nodes) // len(threads)]]
        moves.append(_move(thread, wanted))
    return moves


def by_plan(threads: Sequence[Thread], plan: Plan) -> tuple[list[ThreadMove], list[str]]:
    """The threads for which a plan has a rule, and the rules that cannot be followed here.

    The numbers of threads in a team of OpenMP are not known from outside.
    """
    moves: dict[int, ThreadMove] = {}
    unmet = [f"openmp = {rule.openmp!r}" for rule in plan.threads if rule.openmp]
    for rule in plan.threads:
        fitting = [thread for thread, fits in zip(threads, _fits(rule, threads), strict=True)
                   if fits and thread.tid not in moves]  # fmt: skip
        for number, thread in enumerate(fitting):
            own = rule.cpus if rule.together else (rule.cpus[number % len(rule.cpus)],)
            moves[thread.tid] = _move(thread, tuple(sorted(own)))
    return list(moves.values()), unmet


def _fits(rule: ThreadRule, threads: Sequence[Thread]) -> list[bool]:
    if rule.order:
        numbers = set(parse_numbers(rule.order))
        return [number in numbers for number in range(len(threads))]
    return [bool(rule.name) and fnmatchcase(thread.name, rule.name) for thread in threads]


def _move(thread: Thread, wanted: tuple[int, ...]) -> ThreadMove:
    return ThreadMove(thread.tid, thread.name, thread.started, thread.cpus, wanted)


def move_threads(
    target: TargetProcess,
    moves: Sequence[ThreadMove],
    is_stopped: Callable[[], bool],
    is_every: bool = False,
) -> ThreadResults:
    """Set the CPUs of the threads, and ask the kernel whether it has them.

    `is_every`: `moves` has all threads that the process had. If one of them started a thread before
    it was moved itself, this new thread then counts as not moved.
    """
    moved, failed = 0, dict[str, int]()
    for move in moves:
        reason = "interrupted" if is_stopped() else _set(target, move)
        if reason:
            failed[reason] = failed.get(reason, 0) + 1
        else:
            moved += 1
    if is_every and (later := _started_elsewhere(target, moves)):
        failed["started meanwhile: run the command again"] = later
    return ThreadResults(moved, failed)


def _started_elsewhere(target: TargetProcess, moves: Sequence[ThreadMove]) -> int:
    """The number of new threads that may run on other CPUs than the moved threads."""
    known = {move.tid for move in moves}
    wanted = {frozenset(move.wanted) for move in moves}
    return sum(
        thread.tid not in known and not any(cpus >= set(thread.cpus) for cpus in wanted)
        for thread in read_threads(target)
    )


def _set(target: TargetProcess, move: ThreadMove) -> str:
    """Set the CPUs of a thread. Returns why it did not work; empty if it did."""
    stat = read_stat(target.folder / "task" / str(move.tid) / "stat")
    if stat is None or stat.started != move.started:
        return "the thread has ended"
    try:
        os.sched_setaffinity(move.tid, move.wanted)
        got = os.sched_getaffinity(move.tid)
    except ProcessLookupError:
        return "the thread has ended"
    except PermissionError:
        return affinity_refused() or "the thread belongs to another user: use sudo"
    except OSError:
        return "none of the CPUs is allowed (cpuset)"
    return "" if got <= set(move.wanted) else "the kernel changed the CPUs again"
