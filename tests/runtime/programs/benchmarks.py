# SPDX-License-Identifier: Apache-2.0
"""The three benchmarks on charm4py, on two processors: `benchmarks.py NAME ALGORITHM FILE`.

Runs iterations, balances, runs as many again, and writes what happened as JSON.
"""

import functools
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from charm4py import Array, ArrayMap, Future, Group, charm

from numascape.balance import Options, TaskGraph, flat_target
from numascape.balance import generators as generated
from numascape.balance.charm4py import MeasuredChare, balance, measured, measurements

ITERATIONS = 5


@functools.cache
def graph_of(name: str) -> TaskGraph:
    if name == "kNeighbor":
        return generated.k_neighbor(32, 2, message_bytes=4096, load=5e-4)
    if name == "lb_test":
        return generated.lb_test(32, 2, load=(5e-4, 2e-3))
    return generated.jacobi2d(36, 2, load=3e-4)


class Placed(ArrayMap):  # type: ignore[misc]
    """Three quarters of the elements on processor 0, so that there is something to balance."""

    def procNum(self, index: tuple[int, ...]) -> int:  # noqa: N802  the runtime's name
        return int(index[0] % 4 == 3)


class Element(MeasuredChare):
    """Works in proportion to its load, sends to its neighbours, and waits for their messages."""

    def __init__(self, name: str) -> None:
        graph, me = graph_of(name), self.thisIndex[0]
        self.load = float(graph.load[me])
        self.to = graph.to[graph.offsets[me] : graph.offsets[me + 1]].tolist()
        self.size = int(graph.bytes[0])
        self.expected = int(np.count_nonzero(graph.to == me))
        self.come = 0
        self.worked = False

    @measured
    def step(self, done: Any) -> None:
        self.done = done
        end = time.thread_time() + self.load
        while time.thread_time() < end:
            pass
        self.worked = True
        for other in self.to:
            self.tell((other,), "receive", bytes(self.size))
        self.finish()

    @measured
    def receive(self, data: bytes) -> None:
        self.come += 1
        self.finish()

    def finish(self) -> None:
        if self.worked and self.come >= self.expected:
            self.come -= self.expected
            self.worked = False
            self.reduce(self.done)


def run(array: Any, tasks: int) -> float:
    """Seconds per iteration; elements are called one by one."""
    start = time.perf_counter()
    for _ in range(ITERATIONS):
        done = Future()
        for i in range(tasks):
            array[i].step(done)
        done.get()
    return (time.perf_counter() - start) / ITERATIONS


def core_loads(graph: TaskGraph) -> list[float]:
    loads: list[float] = np.bincount(graph.core, graph.load, charm.numPes()).tolist()
    return loads


def main(arguments: list[str]) -> None:
    name, algorithm, file = arguments[1:4]
    tasks = graph_of(name).tasks
    array = Array(Element, tasks, args=[name], map=Group(Placed))
    before_s = run(array, tasks)
    balanced = balance(array, flat_target(2, 1, 2.0), algorithm, Options(effort=0.1))
    after_s = run(array, tasks)
    _, graph = measurements(array)
    Path(file).write_text(
        json.dumps(
            {
                "seconds": [before_s, after_s],
                "imbalance": max(core_loads(graph)) / np.mean(core_loads(graph)),
                "mapping": balanced.mapping.tolist(),
                "where": graph.core.tolist(),
                "migrations": balanced.metrics.migrations,
                "messages": sorted(
                    zip(graph.senders.tolist(), graph.to.tolist(), graph.count.tolist(),
                        strict=True)
                ),
                "expected": sorted(
                    zip(graph_of(name).senders.tolist(), graph_of(name).to.tolist(),
                        [float(ITERATIONS)] * graph_of(name).messages, strict=True)
                ),
            }
        )
    )  # fmt: skip
    sys.stdout.flush()
    charm.exit()


charm.start(main)
