# SPDX-License-Identifier: Apache-2.0
"""Tasks, a target and an algorithm give a mapping, and what it is worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from numascape._native import balance as native
from numascape.balance.graph import Cores, Floats, TaskGraph
from numascape.balance.target import Target
from numascape.errors import NumascapeError

OURS: Final = "incumbent"
ALGORITHMS: Final[dict[str, str]] = dict(native.algorithms())
"""Their names and what each does, in the order of tables."""


@dataclass(frozen=True)
class Options:
    """What steers an algorithm; docs/balance.md says which takes what. nan: it chooses itself."""

    alpha: float = float("nan")
    received_too: bool = False
    max_imbalance: float = float("nan")
    max_migrations: float = float("inf")
    max_migrated_bytes: float = float("inf")
    max_communication: float = float("inf")
    migration_price: float = float("nan")
    byte_price: float = 0.0
    communication_weight: float = 1.0
    effort: float = 1.0
    time_limit: float = float("inf")
    threads: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Metrics:
    """What a mapping is worth.

    `imbalance` is the longest core's time over the mean, `communication` the sum of message cost
    times NUMA factor, `iteration_time` the longest core's work and sending in seconds,
    `memory_overflow` the bytes of tasks beyond their nodes' memory.
    """

    imbalance: float
    communication: float
    off_node_bytes: float
    migrations: int
    migrated_bytes: float
    iteration_time: float
    memory_overflow: float


@dataclass(frozen=True, eq=False)
class Balanced:
    """A mapping (the core of each task), its worth, and the seconds that finding it took."""

    algorithm: str
    mapping: Cores
    metrics: Metrics
    seconds: float


class Problem:
    """Tasks and a target, checked once, for as many algorithms as one likes.

    A message within a node costs count x cost_per_message + bytes x cost_per_byte; in seconds, if
    iteration times are to mean anything. Raises NumascapeError when the two contradict each other.
    """

    def __init__(
        self,
        graph: TaskGraph,
        target: Target,
        cost_per_message: float = 1.0,
        cost_per_byte: float = 0.0,
    ) -> None:
        self.graph = graph
        self.target = target
        arrays = {**graph.arrays(), **target.arrays()}
        try:
            self._native = native.Problem(arrays, cost_per_message, cost_per_byte)
        except native.BalanceError as error:
            raise NumascapeError(f"these tasks cannot be balanced: {error}") from error

    def run(
        self, algorithm: str = OURS, options: Options | None = None, start: Cores | None = None
    ) -> Balanced:
        """Map the tasks; `start` is a mapping from which the incumbent search also starts."""
        chosen = dataclasses.asdict(options or Options())
        try:
            mapping, seconds = native.run(self._native, algorithm, chosen, start)
        except native.BalanceError as error:
            raise NumascapeError(str(error)) from error
        return Balanced(algorithm, mapping, self.measure(mapping), seconds)

    def pareto_front(self, options: Options | None = None) -> list[Balanced]:
        """Mappings of which none is as good as another in everything, by migrations."""
        mappings = native.pareto_front(self._native, dataclasses.asdict(options or Options()))
        return [Balanced(OURS, mapping, self.measure(mapping), 0.0) for mapping in mappings]

    def measure(self, mapping: Cores) -> Metrics:
        """What a mapping is worth. Raises NumascapeError when it is not one of these tasks."""
        try:
            return Metrics(**native.measure(self._native, np.ascontiguousarray(mapping, np.uint32)))
        except native.BalanceError as error:
            raise NumascapeError(str(error)) from error

    def core_times(self, mapping: Cores) -> Floats:
        """Seconds of each core's tasks and background."""
        return native.core_times(self._native, np.ascontiguousarray(mapping, np.uint32))

    def relabel(self, mapping: Cores) -> Cores:
        """The mapping with cores exchanged: equal loads and communication, fewest migrations."""
        return native.relabel(self._native, np.ascontiguousarray(mapping, np.uint32))

    def node_traffic(self, mapping: Cores) -> Floats:
        """Bytes (messages, where bytes are not known) from each node to each."""
        graph, nodes = self.graph, self.target.nodes
        node = self.target.core_node[mapping].astype(np.int64)
        weights = graph.bytes if graph.bytes.any() else graph.count
        if not len(weights):
            weights = np.ones(graph.messages)
        pairs = node[graph.senders] * nodes + node[graph.to]
        traffic: Floats = np.bincount(pairs, weights, nodes * nodes).astype(np.float64)
        return traffic.reshape(nodes, nodes)


def compare(
    problem: Problem, options: Options | None = None, algorithms: Sequence[str] = ()
) -> list[Balanced]:
    """Every algorithm's result, all of them unless some are named."""
    return [problem.run(name, options) for name in algorithms or ALGORITHMS]
