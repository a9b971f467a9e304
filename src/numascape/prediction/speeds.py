# SPDX-License-Identifier: Apache-2.0
"""The values of a machine for predictions, as matrices: known values, or else stated assumptions.

docs/prediction.md gives the source of every default. Rows and columns are the machine's nodes, in
order: row i is for CPUs of node i, column j for memory of node j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape.errors import NumascapeError
from numascape.machine import Machine, numa_factors
from numascape.machine.factors import bandwidths, latencies

Floats = npt.NDArray[np.float64]

LOCAL_NS: Final = 100.0
"""Read latency in ns of a node's own memory if unknown; the shipped machines have 102 to 160 ns."""
REMOTE_FACTOR: Final = 1.5
"""NUMA factor of a pair if unknown."""
CORE_GB_S: Final = 4.0
"""GB/s of a node's memory per core if unknown: the geometric mean of the shipped machines."""
CORE_NS: Final = 0.5
"""Time of an access that hits a core's own caches: one per cycle at 2 GHz."""
LINES_IN_FLIGHT: Final = 10.0
"""Lines in flight per core: the fill buffers of Intel's cores from Nehalem to Skylake."""
WINDOW: Final = 128 * 0.4
"""Accesses in a core's instruction window: 4 in 10 of Nehalem's 128 instructions."""
HARDWARE_THREADS_GAIN: Final = 1.25
"""The speed of a core's hardware threads together, relative to one alone."""
CACHE_BYTES: Final = 1.5 * (1 << 20)
"""A thread's share of the caches if the machine's caches are unknown."""

# Read latency over idle latency by utilisation, from the loaded latencies of the shipped machines
# epyc-9354p-nps4 and xeon-6980p-snc3.
_DEFAULT_CURVE: Final = (
    (0.0, 1.0), (0.5, 1.1), (0.7, 1.2), (0.8, 1.35), (0.9, 1.55), (1.0, 2.5),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Speeds:
    """The complete values of a machine's memory; `assumed` describes those that are assumptions.

    `latency` in ns and `link` in GB/s are nodes x nodes (a node's link to itself is unlimited).
    `controller` is in GB/s per node. `cores` and `cpus` are the numbers of usable ones per node.
    `curve` has two rows: utilisation from 0 to 1, and latency over idle latency. `shared_cache` is
    the size of a last-level cache, `sharers` the number of its CPUs, and `private_cache` a CPU's
    share of the cache below it.
    """

    nodes: tuple[int, ...]
    cpus: npt.NDArray[np.int64]
    cores: npt.NDArray[np.int64]
    latency: Floats
    controller: Floats
    link: Floats
    curve: Floats
    shared_cache: float
    sharers: int
    private_cache: float
    core_ns: float = CORE_NS
    lines_in_flight: float = LINES_IN_FLIGHT
    window: float = WINDOW
    assumed: tuple[str, ...] = ()

    @property
    def cpu_nodes(self) -> list[int]:
        """The positions of nodes with usable CPUs."""
        return [int(i) for i in np.flatnonzero(self.cpus)]

    def positions(self, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """The positions of nodes by number; -1 stays. NumascapeError if a node does not exist."""
        ordered = sorted([*self.nodes, -1])
        known = np.array(ordered, np.int64)
        at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        strange = np.flatnonzero(known[at] != numbers)
        if len(strange):
            listed = ", ".join(map(str, self.nodes[:16]))
            raise NumascapeError(
                f"the machine has no node {int(numbers[strange].min())}; its nodes are {listed}"
            )
        place = {number: position for position, number in enumerate(self.nodes)} | {-1: -1}
        return np.asarray(np.array([place[number] for number in ordered], np.int64)[at])

    def shares_of_threads(self, position: npt.NDArray[np.int64]) -> Floats:
        """Threads x nodes, by the positions of nodes; -1 is spread evenly over all CPUs."""
        on = np.zeros((len(position), len(self.nodes)))
        on[np.arange(len(position)), position] = 1.0
        on[position < 0] = self.cpus / self.cpus.sum()
        return on

    def slowdown(self, utilisation: Floats) -> Floats:
        """Loaded latency over idle latency at a utilisation; constant above 1."""
        return np.asarray(np.interp(utilisation, self.curve[0], self.curve[1]))


def speeds_of(machine: Machine) -> Speeds:
    """The machine's values, with assumptions for unknown ones."""
    usable = set(machine.usable_cpus)
    cpus = np.array([len(usable & set(node.cpus)) for node in machine.nodes])
    if not cpus.any():
        raise NumascapeError(f"{machine.name} has no CPU for threads to run on")
    firsts = {min(usable & set(core)) for core in machine.cores if usable & set(core)}
    cores = np.array([len(firsts & set(node.cpus)) for node in machine.nodes])
    cores = np.where(cores > 0, cores, cpus)
    assumed: list[str] = []
    latency, factor = _latency(machine, assumed)
    controller, given = _controllers(machine, cores, assumed)
    link = _links(machine, given, controller, factor, assumed)
    shared, sharers, private = _caches(machine, assumed)
    return Speeds(
        tuple(node.node for node in machine.nodes), cpus, cores, latency, controller, link,
        _curve(machine, assumed), shared, sharers, private, assumed=tuple(assumed),
    )  # fmt: skip


def _matrix(values: tuple[tuple[float | None, ...], ...]) -> Floats:
    return np.array([[np.nan if cell is None else cell for cell in row] for row in values])


def _latency(machine: Machine, assumed: list[str]) -> tuple[Floats, Floats]:
    """The latencies in ns, and the NUMA factors."""
    known, factor = _matrix(latencies(machine).values), _matrix(numa_factors(machine).values)
    np.fill_diagonal(factor, 1.0)
    runs = np.array([bool(node.cpus) for node in machine.nodes])
    if np.isnan(factor[runs]).any():
        assumed.append(f"NUMA factors: {REMOTE_FACTOR} where unknown")
    elif np.isnan(known[runs]).any() and not machine.factors:
        assumed.append("NUMA factors: from the firmware's relative distances (SLIT)")
    factor = np.where(np.isnan(factor), REMOTE_FACTOR, factor)
    local = np.diagonal(known)
    if np.isnan(local[runs]).any():
        assumed.append(f"latency of a node's own memory: {LOCAL_NS:.0f} ns")
    local = np.where(np.isnan(local), LOCAL_NS, local)
    return np.where(np.isnan(known), local[:, None] * factor, known), factor


def _controllers(
    machine: Machine, cores: npt.NDArray[np.int64], assumed: list[str]
) -> tuple[Floats, Floats]:
    """GB/s of each node's memory and, if known, between nodes."""
    given = _matrix(bandwidths(machine).values)
    result: Floats = np.full(len(machine.nodes), np.nan)
    for controllers in machine.controllers:
        if controllers.operation == "read":
            values = [np.nan if value is None else value for value in controllers.values]
            result = np.where(np.isnan(result), values, result)
    result = np.where(np.isnan(result), np.diagonal(given), result)
    for curve in machine.loaded_latency:
        if curve.memory_node is None and curve.cpu_node is None:
            share = max(x for x, _ in curve.points) / len(machine.nodes)
            result = np.where(np.isnan(result), share, result)
    if np.isnan(result).any():
        assumed.append(f"bandwidth of a node's memory: {CORE_GB_S:.0f} GB/s per core")
        per_node = np.where(cores > 0, cores, cores[cores > 0].mean())
        result = np.where(np.isnan(result), CORE_GB_S * per_node, result)
    return result, given


def _links(
    machine: Machine, given: Floats, controller: Floats, factor: Floats, assumed: list[str]
) -> Floats:
    apart = ~np.eye(len(controller), dtype=bool)
    if np.isnan(given[apart]).any():
        assumed.append("bandwidth between nodes: that of the memory, divided by the NUMA factor")
    link = np.where(np.isnan(given), controller[None, :] / factor, given)
    np.fill_diagonal(link, np.inf)
    return link


def _curve(machine: Machine, assumed: list[str]) -> Floats:
    """The machine's loaded latency as rising utilisation and slowdown, or else the default."""
    for curve in machine.loaded_latency:
        points = np.array(curve.points).T
        if points.shape[1] >= 3:
            utilisation = np.concatenate([[0.0], points[0] / points[0].max()])
            slowdown = np.concatenate([[1.0], points[1] / points[1].min()])
            order = np.argsort(utilisation, kind="stable")
            return np.stack([utilisation[order], np.maximum.accumulate(slowdown[order])])
    assumed.append("latency under load: as on other machines")
    return np.array(_DEFAULT_CURVE).T


def _caches(machine: Machine, assumed: list[str]) -> tuple[float, int, float]:
    """Bytes of a last-level cache, its number of CPUs, and a CPU's bytes of the cache below it."""
    kept = [c for c in machine.caches if c.kind in ("data", "unified") and c.groups and c.bytes]
    if not kept:
        assumed.append(f"caches: {CACHE_BYTES / (1 << 20):.1f} MiB for each thread")
        return CACHE_BYTES, 1, 0.0
    last = max(kept, key=lambda cache: cache.level)
    own = [c for c in kept if c.level < last.level]
    private = max(own, key=lambda cache: cache.level) if own else None
    per_cpu = private.bytes / max(map(len, private.groups)) if private else 0.0
    return float(last.bytes), max(map(len, last.groups)), per_cpu
