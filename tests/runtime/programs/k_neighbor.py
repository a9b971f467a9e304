# SPDX-License-Identifier: Apache-2.0
"""Charm++'s kNeighbor on charm4py, on two processors: `k_neighbor.py STRATEGY FILE`.

All elements exchange numbers with their neighbours on a ring, and then wait until they are
balanced: by Numascape (STRATEGY `numascape`), or by the strategy of the runtime that `+balancer`
names. What happened is written as JSON.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from charm4py import Array, ArrayMap, Future, Group, Reducer, charm

from numascape.balance import Options, flat_target
from numascape.balance.charm4py import Balancer, MeasuredChare, balance_at_sync, measured
from numascape.balance.generators import k_neighbor

TASKS = 32
ITERATIONS = 3
LOAD_S = 2e-3
NUMBERS = 1_000_003
GRAPH = k_neighbor(TASKS, 2)


class Placed(ArrayMap):  # type: ignore[misc]
    """Three quarters of the elements on processor 0, so that there is something to balance."""

    def procNum(self, index: tuple[int, ...]) -> int:  # noqa: N802  the runtime's name
        return int(index[0] % 4 == 3)


class Element(MeasuredChare):
    """Works, sends its number to its neighbours, and adds up their numbers; then it is balanced."""

    def __init__(self, strategy: str) -> None:
        me = self.thisIndex[0]
        self.ours = strategy == "numascape"
        self.number = me + 1
        self.received = 0
        self.sum = 0
        self.to = GRAPH.to[GRAPH.offsets[me] : GRAPH.offsets[me + 1]].tolist()
        self.expected = int((GRAPH.to == me).sum())
        self.worked = False
        self.seen: list[int] = []

    @measured
    def step(self, done: Any) -> None:
        self.done = done
        self.seen.append(charm.myPe())
        end = time.thread_time() + LOAD_S
        while time.thread_time() < end:
            pass
        for other in self.to:
            self.tell((other,), "receive", self.number)
        self.worked = True
        self.finish()

    @measured
    def receive(self, number: int) -> None:
        self.sum += number
        self.received += 1
        self.finish()

    def finish(self) -> None:
        if not self.worked or self.received < self.expected:
            return
        self.number = (3 * self.number + self.sum) % NUMBERS
        self.worked, self.received, self.sum = False, 0, 0
        if self.ours:
            self.at_sync()
        else:
            self.AtSync()

    def resumeFromSync(self) -> None:  # noqa: N802  the runtime's name
        if len(self.seen) < ITERATIONS:
            self.thisProxy[self.thisIndex].step(self.done)
        else:
            row = [self.thisIndex[0], self.number, *self.seen, charm.myPe()]
            self.reduce(self.done, [row], Reducer.gather)


def main(arguments: list[str]) -> None:
    strategy, file = arguments[1:3]
    ours = strategy == "numascape"
    array = Array(Element, TASKS, args=[strategy], map=Group(Placed), useAtSync=not ours)
    if ours:
        target = flat_target(2, 1, 2.0)
        balancer = balance_at_sync(array, target, options=Options(effort=0.1))
    done = Future()
    for i in range(TASKS):
        array[i].step(done)
    rows = sorted(row[0] if isinstance(row[0], list) else row for row in done.get())
    history = balancer.history(ret=True).get() if ours else []
    Path(file).write_text(
        json.dumps(
            {
                "numbers": [row[1] for row in rows],
                "where": [row[2:] for row in rows],
                "mappings": [balanced.mapping.tolist() for balanced in history],
                "migrations": [balanced.metrics.migrations for balanced in history],
            }
        )
    )
    sys.stdout.flush()
    charm.exit()


charm.start(main, classes=[Balancer])
