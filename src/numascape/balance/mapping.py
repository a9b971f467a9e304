# SPDX-License-Identifier: Apache-2.0
"""Computes a mapping from tasks, a target and an algorithm, and the metrics of the mapping."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from numascape._native import balance as native
from numascape.balance.between_nodes import traffic_between
from numascape.balance.graph import Cores, Floats, TaskGraph
from numascape.balance.target import Target
from numascape.errors import NumascapeError

OURS: Final = "incumbent"
ALGORITHMS: Final[dict[str, str]] = dict(native.algorithms())
"""The names of the algorithms and what each does, in the order of tables."""


@dataclass(frozen=True)
class Options:
    """Parameters of the algorithms; see docs/balance.md.

    If a parameter is nan, or there are no `starts`, the algorithm chooses. `iterations` is the
    number until the next balancing: a migration must have saved its price by then.
    """

    alpha: float = float("nan")
    received_too: bool = False
    max_imbalance: float = float("nan")
    max_migrations: float = float("inf")
    max_migrated_bytes: float = float("inf")
    max_communication: float = float("inf")
    migration_price: float = float("nan")
    byte_price: float = 0.0
    iterations: float = 1.0
    starts: tuple[str, ...] = ()
    communication_weight: float = 1.0
    effort: float = 1.0
    time_limit: float = float("inf")
    threads: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Metrics:
    """The metrics of a mapping.

    `imbalance` is the time of the slowest core over the mean. `communication` is the sum of message
    cost times NUMA factor. `iteration_time` is the slowest core's time to work and send, in
    seconds. `memory_overflow` is the bytes of tasks that exceed their nodes' memory. `core_memory`
    is the largest memory of a core's process, in bytes. `cores_over` is the number of cores that
    exceed their limits, and `core_memory_overflow` is the sum of the bytes above these limits.
    """

    imbalance: float
    communication: float
    off_node_bytes: float
    migrations: int
    migrated_bytes: float
    iteration_time: float
    memory_overflow: float
    core_memory: float
    core_memory_overflow: float
    cores_over: int


@dataclass(frozen=True, eq=False)
class Balanced:
    """A mapping (the core of each task), its metrics, and the seconds that the algorithm took."""

    algorithm: str
    mapping: Cores
    metrics: Metrics
    seconds: float


class Problem:
    """Tasks and a target, checked once for any number of algorithms.

    A message within a node costs count x cost_per_message + bytes x cost_per_byte. Iteration times
    are only meaningful if these costs are in seconds. Raises NumascapeError if the tasks do not fit
    the target.
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
        self.message_costs = (cost_per_message, cost_per_byte)
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

    def start(self, name: str, options: Options | None = None) -> Cores:
        """The relabelled mapping of this name from which the incumbent search can start."""
        chosen = dataclasses.asdict(options or Options())
        try:
            return native.start(self._native, name, chosen)
        except native.BalanceError as error:
            raise NumascapeError(str(error)) from error

    def objective(self, mapping: Cores, options: Options | None = None) -> tuple[float, ...]:
        """The numbers that the incumbent search minimises, the most important first.

        - the excess over the caps on migrations,
        - the excess over the memory of cores,
        - the excess over the other caps (all three are 0 if the caps are kept),
        - the cost: communication, and the price of migrations.
        """
        cores = np.ascontiguousarray(mapping, np.uint32)
        chosen = dataclasses.asdict(options or Options())
        try:
            return native.objective(self._native, cores, chosen)
        except native.BalanceError as error:
            raise NumascapeError(str(error)) from error

    def check_core_memory(self) -> None:
        """Raise NumascapeError if no mapping can keep the limits of the cores' memory."""
        try:
            native.check_core_memory(self._native)
        except native.BalanceError as error:
            raise NumascapeError(str(error)) from error

    def keep_core_memory(self, mapping: Cores, options: Options | None = None) -> Cores:
        """The mapping with tasks moved away from cores whose memory is exceeded.

        A task moves if another core has room and the caps on migrations allow it. Raises
        NumascapeError if no mapping can keep the limits.
        """
        cores = np.ascontiguousarray(mapping, np.uint32)
        chosen = dataclasses.asdict(options or Options())
        try:
            return native.keep_core_memory(self._native, cores, chosen)
        except native.BalanceError as error:
            raise NumascapeError(str(error)) from error

    def pareto_front(self, options: Options | None = None) -> list[Balanced]:
        """Return the Pareto-optimal mappings, in order of migrations."""
        mappings = native.pareto_front(self._native, dataclasses.asdict(options or Options()))
        return [Balanced(OURS, mapping, self.measure(mapping), 0.0) for mapping in mappings]

    def measure(self, mapping: Cores) -> Metrics:
        """Return the metrics. Raises NumascapeError if it is not a mapping of these tasks."""
        try:
            return Metrics(**native.measure(self._native, np.ascontiguousarray(mapping, np.uint32)))
        except native.BalanceError as error:
            raise NumascapeError(str(error)) from error

    def core_times(self, mapping: Cores) -> Floats:
        """Seconds of each core's tasks and background."""
        return native.core_times(self._native, np.ascontiguousarray(mapping, np.uint32))

    def relabel(self, mapping: Cores) -> Cores:
        """The mapping with equal cores and nodes exchanged, so that the fewest tasks migrate."""
        return native.relabel(self._native, np.ascontiguousarray(mapping, np.uint32))

    def relabelled_migrations(self, mapping: Cores) -> int:
        """The number of tasks that still migrate after `relabel`."""
        return self.measure(self.relabel(mapping)).migrations

    def node_traffic(self, mapping: Cores) -> Floats:
        """Bytes (messages, if bytes are unknown) from each node to each node."""
        return traffic_between(self.graph, self.target, mapping)


def compare(
    problem: Problem, options: Options | None = None, algorithms: Sequence[str] = ()
) -> list[Balanced]:
    """The result of each named algorithm; by default of all."""
    return [problem.run(name, options) for name in algorithms or ALGORITHMS]
