# SPDX-License-Identifier: Apache-2.0
"""A discrete-event simulation of message-driven iterations on a target's cores.

A task runs an iteration when it has finished the previous one and has received the messages that
other tasks sent in it. There is no barrier. A core handles events in order of arrival: a message
(receiving it takes CPU time), or a ready task (its load, then sending). A message arrives one
latency after it was sent. The runtime's work per message does not depend on the sender. The latency
and the cost of the bytes are multiplied by the NUMA factor, because the receiver reads them from
the sender's memory.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from numascape.balance.graph import Cores, Floats, TaskGraph
from numascape.balance.target import Target

WORK: Final = "work"
COMMUNICATION: Final = "communication"
MIGRATION: Final = "migration"
BEFORE_AND_AFTER: Final = (2, 4)
"""Iterations that pictures and pages show before the balancing and after it."""


@dataclass(frozen=True)
class Costs:
    """The costs of messages and migrations within a node, in seconds.

    They are, in order: to send and to receive a message; to read a byte of it (0 if none is read);
    the latency; to migrate a task, and each of its bytes.
    """

    per_message: float = 2e-6
    per_byte: float = 4e-10
    latency: float = 2e-6
    per_migration: float = 5e-5
    per_migrated_byte: float = 1e-9


@dataclass(frozen=True)
class Interval:
    """An activity of a core between two times, in seconds. Between intervals, the core is idle."""

    core: int
    start: float
    end: float
    kind: str


@dataclass(frozen=True, eq=False)
class Simulation:
    """The time of each iteration (since the previous one was complete), and what the cores did."""

    iteration_times: list[float]
    iteration_ends: list[float]
    intervals: list[Interval]
    end: float
    cores: int

    @property
    def efficiency(self) -> float:
        """The share of the cores' time in which tasks worked."""
        work = sum(i.end - i.start for i in self.intervals if i.kind == WORK)
        return work / (self.cores * self.end) if self.end > 0 else 1.0


@dataclass
class _Core:
    queue: deque[tuple[str, int, int]] = field(default_factory=deque)
    busy: bool = False


class _Run:
    """The state of one simulation; times in seconds."""

    def __init__(self, graph: TaskGraph, target: Target, mapping: Cores, costs: Costs) -> None:
        self.mapping = mapping.tolist()
        node = target.core_node[mapping]
        self.factor = target.factors(node[graph.senders], node[graph.to])
        count = graph.count if len(graph.count) else np.ones(graph.messages)
        size = graph.bytes if len(graph.bytes) else np.zeros(graph.messages)
        handling: Floats = count * costs.per_message + size * costs.per_byte * self.factor
        self.handling = handling.tolist()
        self.arrival = (costs.latency * self.factor).tolist()
        speed = target.speed[mapping] if len(target.speed) else 1.0
        self.load = (graph.load / speed).tolist()
        self.to = graph.to.tolist()
        self.first = graph.offsets.astype(int).tolist()
        self.needed = np.bincount(graph.to, minlength=graph.tasks).tolist()
        self.cores = [_Core() for _ in range(target.cores)]
        self.intervals: list[Interval] = []
        self.events: list[tuple[float, int, str, int, int]] = []
        self.sequence = 0
        self.iterations = 0

    def at(self, time: float, kind: str, task: int, message: int) -> None:
        self.sequence += 1
        heapq.heappush(self.events, (time, self.sequence, kind, task, message))

    def run(self, iterations: int) -> list[float]:
        self.iterations = iterations
        tasks = len(self.load)
        done = [0] * tasks  # iterations that the task has finished
        # For each task, the received messages of each iteration, because senders may be several
        # iterations ahead.
        have: list[dict[int, int]] = [{} for _ in range(tasks)]
        finished_at = [0.0] * iterations
        for task in range(tasks):
            self.at(0.0, "ready", task, -1)
        while self.events:
            now, _, kind, task, message = heapq.heappop(self.events)
            core = self.cores[self.mapping[task]]
            if kind in ("ready", "message"):
                core.queue.append((kind, task, message))
            else:
                core.busy = False
                if kind == "received":
                    wanted = message % iterations + 1
                    have[task][wanted] = have[task].get(wanted, 0) + 1
                    becomes_ready = wanted == done[task]
                else:
                    finished_at[done[task]] = max(finished_at[done[task]], now)
                    self._send(task, done[task], now)
                    done[task] += 1
                    becomes_ready = True
                if becomes_ready and self._complete(have[task], task, done[task]):
                    self.at(now, "ready", task, -1)
            self._start(core, now)
        return finished_at

    def _complete(self, have: dict[int, int], task: int, iteration: int) -> bool:
        if iteration >= self.iterations or have.get(iteration, 0) != self.needed[task]:
            return False
        have.pop(iteration, None)
        return True

    def _send(self, task: int, iteration: int, now: float) -> None:
        for message in range(self.first[task], self.first[task + 1]):
            self.at(now + self.arrival[message], "message", self.to[message],
                    message * self.iterations + iteration)  # fmt: skip

    def _start(self, core: _Core, now: float) -> None:
        if core.busy or not core.queue:
            return
        kind, task, message = core.queue.popleft()
        core.busy = True
        number = self.mapping[task]
        if kind == "message":
            end = now + self.handling[message // self.iterations]
            self._keep(number, now, end, COMMUNICATION)
            self.at(end, "received", task, message)
        else:
            worked = now + self.load[task]
            sending = sum(self.handling[self.first[task] : self.first[task + 1]])
            self._keep(number, now, worked, WORK)
            self._keep(number, worked, worked + sending, COMMUNICATION)
            self.at(worked + sending, "worked", task, -1)

    def _keep(self, core: int, start: float, end: float, kind: str) -> None:
        if end > start:
            self.intervals.append(Interval(core, start, end, kind))


def simulate(
    graph: TaskGraph, target: Target, mapping: Cores, iterations: int, costs: Costs | None = None
) -> Simulation:
    """Run iterations of the tasks on the cores of the mapping."""
    run = _Run(graph, target, mapping, costs or Costs())
    finished = run.run(iterations) if graph.tasks and iterations else [0.0] * iterations
    times = np.diff([0.0, *finished]).tolist()
    return Simulation(times, finished, run.intervals, max(finished, default=0.0), target.cores)


def migration_time(
    graph: TaskGraph, target: Target, before: Cores, after: Cores, costs: Costs | None = None
) -> float:
    """Seconds until the last core has sent and received its migrating tasks."""
    chosen = costs or Costs()
    moved = before != after
    size = graph.migrated_bytes if len(graph.migrated_bytes) else np.zeros(graph.tasks)
    factor = target.factors(target.core_node[before], target.core_node[after])
    each = (chosen.per_migration + size * chosen.per_migrated_byte * factor)[moved]
    busy = np.bincount(before[moved], each, target.cores)
    busy += np.bincount(after[moved], each, target.cores)
    return float(busy.max(initial=0.0))


def simulate_balancing(
    graph: TaskGraph,
    target: Target,
    after: Cores,
    balancing_s: float,
    costs: Costs | None = None,
    iterations: tuple[int, int] = BEFORE_AND_AFTER,
) -> Simulation:
    """Simulate iterations, the balancing (its own time and migrations), and iterations after it."""
    first = simulate(graph, target, graph.core, iterations[0], costs)
    moving = migration_time(graph, target, graph.core, after, costs)
    second = simulate(graph, target, after, iterations[1], costs)
    start, begin = first.end, first.end + balancing_s + moving
    moved = graph.core != after
    movers = np.union1d(graph.core[moved], after[moved]).tolist()
    intervals = [
        *first.intervals,
        *(Interval(core, start + balancing_s, begin, MIGRATION) for core in movers),
        *(Interval(i.core, i.start + begin, i.end + begin, i.kind) for i in second.intervals),
    ]
    times = [*first.iteration_times, *second.iteration_times]
    ends = [*first.iteration_ends, *(begin + end for end in second.iteration_ends)]
    return Simulation(times, ends, intervals, begin + second.end, target.cores)
