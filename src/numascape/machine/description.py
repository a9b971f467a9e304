# SPDX-License-Identifier: Apache-2.0
"""A machine as every part of Numascape sees it: its topology, and what is known of its memory.

docs/machine.md gives meaning and unit of each field. Rows and columns of every matrix are the
machine's nodes in their order: row i is CPUs of node i, column j is memory of node j; None is
what nobody knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

# Larger ones than any machine that runs one kernel; they bound what an untrusted file can ask for.
MOST_NODES: Final = 1024
MOST_CPUS: Final = 1 << 16


def _fits_64_bits(value: int) -> int:
    if value > (1 << 64) - 1:
        raise ValueError("greater than 2^64 - 1")
    return value


Count = Annotated[int, Field(ge=0), AfterValidator(_fits_64_bits)]
Cpu = Annotated[int, Field(ge=0, lt=MOST_CPUS)]
CpuSet = tuple[Cpu, ...]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rows = tuple[tuple[Positive | None, ...], ...]

# From the best to the least: what this machine did, what its kernel says, what its firmware says
# (HMAT: in physical units; SLIT: relative), what others wrote of such a machine, what a file said
# without saying how it knew, and a guess.
ProvenanceKind = Literal["measured", "kernel", "hmat", "slit", "published", "given", "assumed"]
Operation = Literal[
    "read",
    "write",
    "write-nt",
    "copy",
    "copy-nt",
    "stream",
    "stream-nt",
    "triad",
    "triad-nt",
]


@dataclass(frozen=True)
class Provenance:
    """How a figure became known: the tool and its method, the table, or the citation."""

    kind: ProvenanceKind
    source: str = ""
    date: str = ""


@dataclass(frozen=True)
class MachineNode:
    """A NUMA node: its number, its CPUs' numbers (CPU-less nodes have none), its memory.

    `kind` is what the memory is made of where that is known, as hwloc names it: HBM, NVM, CXL...
    """

    node: Annotated[int, Field(ge=0, lt=1 << 31)]
    cpus: CpuSet
    memory_bytes: Count
    kind: str = ""


@dataclass(frozen=True)
class Cache:
    """All caches of one kind and size: each group is the CPUs that share one of them."""

    level: Annotated[int, Field(ge=1, le=9)]
    kind: Literal["data", "instruction", "unified", "memory-side"]
    bytes: Count
    line_bytes: Count
    groups: tuple[CpuSet, ...]


@dataclass(frozen=True)
class Matrix:
    """A figure for each pair of nodes; `spread` is the 95 % confidence interval's half width."""

    values: Rows
    provenance: Provenance
    spread: Rows | None = None
    operation: Operation = "read"


@dataclass(frozen=True)
class Controllers:
    """GB/s that each node's memory gives when all nodes' CPUs use it at once."""

    values: tuple[Positive | None, ...]
    provenance: Provenance
    spread: tuple[Positive | None, ...] | None = None
    operation: Operation = "read"


@dataclass(frozen=True)
class Curve:
    """Points in order of x: for CPUs of a node and memory of a node, or of all nodes (None)."""

    points: tuple[tuple[Positive, Positive], ...]
    provenance: Provenance
    cpu_node: int | None = None
    memory_node: int | None = None
    operation: Operation = "read"


@dataclass(frozen=True)
class Machine:
    """A machine: its nodes, what its CPUs share, and what is known of its memory's speed.

    Units: ns for latencies, GB/s (10^9 bytes) for bandwidths. `distances` (SLIT) and `factors`
    (NUMA factors that were published as such) are ratios. Where several matrices of one quantity
    are known, the first one that has a pair counts. `latency_by_size` is ns over bytes,
    `loaded_latency` ns over GB/s, `scaling` GB/s over threads.
    """

    name: str
    nodes: tuple[MachineNode, ...]
    packages: tuple[CpuSet, ...] = ()
    cores: tuple[CpuSet, ...] = ()
    caches: tuple[Cache, ...] = ()
    page_sizes: tuple[Count, ...] = ()
    allowed_cpus: CpuSet | None = None
    allowed_nodes: tuple[Count, ...] | None = None
    distances: Matrix | None = None
    factors: tuple[Matrix, ...] = ()
    latencies: tuple[Matrix, ...] = ()
    bandwidths: tuple[Matrix, ...] = ()
    controllers: tuple[Controllers, ...] = ()
    latency_by_size: tuple[Curve, ...] = ()
    loaded_latency: tuple[Curve, ...] = ()
    scaling: tuple[Curve, ...] = ()
    provenance: Provenance | None = None
    notes: tuple[str, ...] = ()

    @property
    def cpus(self) -> CpuSet:
        """All CPUs, in the order of their numbers."""
        return tuple(sorted(cpu for node in self.nodes for cpu in node.cpus))

    @property
    def usable_cpus(self) -> CpuSet:
        """The CPUs that may be used: all, unless a cpuset or container allows fewer."""
        if self.allowed_cpus is None:
            return self.cpus
        return tuple(sorted(set(self.allowed_cpus) & set(self.cpus)))

    def package_nodes(self) -> tuple[list[list[MachineNode]], list[MachineNode]]:
        """The nodes of each package, and those of none.

        A node belongs to the package that has most of its CPUs, and without CPUs to none.
        """
        owned: list[list[MachineNode]] = [[] for _ in self.packages]
        rest = []
        for node in self.nodes:
            shared = [len(set(node.cpus) & set(package)) for package in self.packages]
            if shared and max(shared) > 0:
                owned[shared.index(max(shared))].append(node)
            else:
                rest.append(node)
        return owned, rest

    def position(self, node: int) -> int:
        """The row and column of the node of this number; KeyError when there is none."""
        for position, candidate in enumerate(self.nodes):
            if candidate.node == node:
                return position
        raise KeyError(node)


def cpu_nodes(machine: Machine) -> dict[int, int]:
    """The node of every CPU."""
    return {cpu: node.node for node in machine.nodes for cpu in node.cpus}


def problem(machine: Machine) -> str | None:
    """What contradicts itself in a machine whose types are right; None when nothing does."""
    numbers = [node.node for node in machine.nodes]
    if not 1 <= len(numbers) <= MOST_NODES:
        return f"it has {len(numbers)} nodes, and 1 to {MOST_NODES} can be described"
    if len(set(numbers)) != len(numbers):
        return "two nodes have the same number"
    cpus = [cpu for node in machine.nodes for cpu in node.cpus]
    if len(set(cpus)) != len(cpus):
        return "a CPU is on two nodes"
    return _problem_of_sets(machine, set(cpus)) or _problem_of_figures(machine)


def _problem_of_sets(machine: Machine, cpus: set[int]) -> str | None:
    groups = [("packages", group) for group in machine.packages]
    groups += [("cores", group) for group in machine.cores]
    groups += [("caches", group) for cache in machine.caches for group in cache.groups]
    for name, group in groups:
        if not cpus.issuperset(group):
            return f"{name} name CPU {min(set(group) - cpus)}, which is on no node"
    return None


def _problem_of_figures(machine: Machine) -> str | None:
    size = len(machine.nodes)
    named = [("distances", machine.distances)] if machine.distances else []
    for name in ("factors", "latencies", "bandwidths"):
        named += [(name, matrix) for matrix in getattr(machine, name)]
    for name, matrix in named:
        for rows in (matrix.values, matrix.spread):
            if rows is not None and (len(rows) != size or any(len(row) != size for row in rows)):
                return f"{name} has a matrix that is not {size} x {size}, as the nodes are"
    for controllers in machine.controllers:
        if len(controllers.values) != size:
            return f"controllers has {len(controllers.values)} values for {size} nodes"
    numbers = {node.node for node in machine.nodes} | {None}
    for name in ("latency_by_size", "loaded_latency", "scaling"):
        for curve in getattr(machine, name):
            if not {curve.cpu_node, curve.memory_node} <= numbers:
                return f"{name} names a node that the machine does not have"
    return None


def symmetric(matrix: Matrix, tolerance: float = 0.1) -> bool:
    """Whether both directions of each pair agree within a tenth, where both are known."""
    rows = matrix.values
    return all(
        there is None or back is None or math.isclose(there, back, rel_tol=tolerance)
        for i, row in enumerate(rows)
        for there, back in zip(row, (other[i] for other in rows), strict=True)
    )
