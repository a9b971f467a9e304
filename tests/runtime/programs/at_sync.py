# SPDX-License-Identifier: Apache-2.0
"""Elements that synchronise by themselves, on two processors: `at_sync.py FILE`.

Each works, calls at_sync, and continues when it is resumed, three times. The events are written as
JSON.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from charm4py import Array, ArrayMap, Future, Group, Reducer, charm

from numascape.balance import Options, flat_target
from numascape.balance.charm4py import Balancer, MeasuredChare, balance_at_sync, measured

TASKS = 24
ROUNDS = 3


class Placed(ArrayMap):  # type: ignore[misc]
    """All elements on processor 0, so that there is something to balance."""

    def procNum(self, index: tuple[int, ...]) -> int:  # noqa: N802  the runtime's name
        return 0


class Element(MeasuredChare):
    """Works in proportion to its number, and sends a message to its neighbour."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    @measured
    def work(self, done: Any) -> None:
        self.done = done
        end = time.thread_time() + 1e-3 * (1 + self.thisIndex[0] % 3)
        while time.thread_time() < end:
            pass
        self.tell(((self.thisIndex[0] + 1) % TASKS,), "receive", b"edge")
        self.seen.append(charm.myPe())
        self.at_sync()

    def receive(self, data: bytes) -> None:
        pass

    def resumeFromSync(self) -> None:  # noqa: N802  the runtime's name
        if len(self.seen) < ROUNDS:
            self.thisProxy[self.thisIndex].work(self.done)
        else:
            self.reduce(self.done, [[self.thisIndex[0], *self.seen, charm.myPe()]], Reducer.gather)


def main(arguments: list[str]) -> None:
    array = Array(Element, TASKS, map=Group(Placed))
    balancer = balance_at_sync(array, flat_target(2, 1, 2.0), options=Options(effort=0.1))
    done = Future()
    for i in range(TASKS):
        array[i].work(done)
    rows = done.get()
    history = balancer.history(ret=True).get()
    Path(arguments[1]).write_text(
        json.dumps(
            {
                "where": sorted(row[0] if isinstance(row[0], list) else row for row in rows),
                "mappings": [balanced.mapping.tolist() for balanced in history],
                "imbalance": [balanced.metrics.imbalance for balanced in history],
            }
        )
    )
    sys.stdout.flush()
    charm.exit()


charm.start(main, classes=[Balancer])
