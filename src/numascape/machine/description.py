# SPDX-License-Identifier: Apache-2.0
"""The description of a machine: its topology, and the known speed of its memory.

docs/machine.md gives meaning and unit of each field. Rows and columns of every matrix are the
machine's nodes in their order: row i is CPUs of node i, column j is memory of node j; None is
an unknown value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from numascape.machine.bounds import Bounds, FitsIn64Bits

# Larger than any machine with one kernel; they limit what an untrusted file can ask for.
MAX_NODES: Final = 1024
MAX_CPUS: Final = 1 << 16

Count = Annotated[int, Bounds(ge=0), FitsIn64Bits()]
Cpu = Annotated[int, Bounds(ge=0, lt=MAX_CPUS)]
CpuSet = tuple[Cpu, ...]
Positive = Annotated[float, Bounds(gt=0)]
Rows = tuple[tuple[Positive | None, ...], ...]

# From the best source to the worst: measured on this machine, reported by its kernel or by its
# firmware (HMAT: in physical units; SLIT: relative), published for such a machine, given in a file
# without a source, and assumed.
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
    """The source of a value: the tool and its method, the table, or the citation."""

    kind: ProvenanceKind
    source: str = ""
    date: str = ""


@dataclass(frozen=True)
class MachineNode:
    """A NUMA node: its number, its CPUs' numbers (CPU-less nodes have none), its memory.

    `kind` is the kind of memory, if known, as hwloc names it: HBM, NVM, CXL...
    """

    node: Annotated[int, Bounds(ge=0, lt=1 << 31)]
    cpus: CpuSet
    memory_bytes: Count
    kind: str = ""


@dataclass(frozen=True)
class Cache:
    """All caches of one kind and size; each group is the set of CPUs that share one of them."""

    level: Annotated[int, Bounds(ge=1, le=9)]
    kind: Literal["data", "instruction", "unified", "memory-side"]
    bytes: Count
    line_bytes: Count
    groups: tuple[CpuSet, ...]


@dataclass(frozen=True)
class CpuGroups:
    """Other groups of CPUs that the machine has: its dies, clusters, modules."""

    kind: str
    groups: tuple[CpuSet, ...]


@dataclass(frozen=True)
class CoreMatrix:
    """The ns that a cache line takes between two cores; `cpus` has a CPU of each core."""

    cpus: CpuSet
    values: Rows
    provenance: Provenance


@dataclass(frozen=True)
class Matrix:
    """A value per pair of nodes; `spread` is the half width of the 95 % confidence interval."""

    values: Rows
    provenance: Provenance
    spread: Rows | None = None
    operation: Operation = "read"


@dataclass(frozen=True)
class Controllers:
    """The bandwidth in GB/s of each node's memory when the CPUs of all nodes use it."""

    values: tuple[Positive | None, ...]
    provenance: Provenance
    spread: tuple[Positive | None, ...] | None = None
    operation: Operation = "read"


@dataclass(frozen=True)
class Curve:
    """Points in order of x, for the CPUs of a node and the memory of a node; None: all nodes."""

    points: tuple[tuple[Positive, Positive], ...]
    provenance: Provenance
    cpu_node: int | None = None
    memory_node: int | None = None
    operation: Operation = "read"


@dataclass(frozen=True)
class Machine:
    """A machine: its nodes, the caches and cores of its CPUs, and the known speed of its memory.

    Units: ns for latencies, GB/s (10^9 bytes) for bandwidths. `distances` (SLIT) and `factors`
    (NUMA factors that were published as such) are ratios. If there are several matrices of one
    quantity, the first one with a value for a pair counts. `latency_by_size` is ns over bytes,
    `loaded_latency` ns over GB/s, `scaling` GB/s over threads.
    """

    name: str
    nodes: tuple[MachineNode, ...]
    packages: tuple[CpuSet, ...] = ()
    cores: tuple[CpuSet, ...] = ()
    caches: tuple[Cache, ...] = ()
    groups: tuple[CpuGroups, ...] = ()
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
    core_latencies: CoreMatrix | None = None
    provenance: Provenance | None = None
    notes: tuple[str, ...] = ()

    @property
    def cpus(self) -> CpuSet:
        """All CPUs, in the order of their numbers."""
        return tuple(sorted(cpu for node in self.nodes for cpu in node.cpus))

    @property
    def usable_cpus(self) -> CpuSet:
        """The CPUs that may be used: all, unless a cpuset or container allows only some."""
        if self.allowed_cpus is None:
            return self.cpus
        return tuple(sorted(set(self.allowed_cpus) & set(self.cpus)))

    def package_nodes(self) -> tuple[list[list[MachineNode]], list[MachineNode]]:
        """The nodes of each package, and the nodes without a package.

        A node belongs to the package with most of its CPUs; without CPUs, it has no package.
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
        """The row and column of the node with this number; KeyError if there is none."""
        for position, candidate in enumerate(self.nodes):
            if candidate.node == node:
                return position
        raise KeyError(node)


def same_nodes(one: Machine, other: Machine) -> bool:
    """Whether both have the same numbers of nodes, and the same nodes have CPUs.

    What was observed on the nodes of one machine then also makes sense on the other machine.
    """

    def numbers(machine: Machine) -> dict[int, bool]:
        return {node.node: bool(node.cpus) for node in machine.nodes}

    return numbers(one) == numbers(other)


def cpu_nodes(machine: Machine) -> dict[int, int]:
    """The node of every CPU."""
    return {cpu: node.node for node in machine.nodes for cpu in node.cpus}


def machine_problem(machine: Machine) -> str | None:
    """Describe a contradiction in a machine with valid types; None if there is none."""
    numbers = [node.node for node in machine.nodes]
    if not 1 <= len(numbers) <= MAX_NODES:
        return f"it has {len(numbers)} nodes, but must have 1 to {MAX_NODES}"
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
    groups += [("groups", group) for kind in machine.groups for group in kind.groups]
    if machine.core_latencies is not None:
        groups.append(("core_latencies", machine.core_latencies.cpus))
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
    between = machine.core_latencies
    if between is not None:
        cpus = len(between.cpus)
        if cpus != len(set(between.cpus)) or [len(row) for row in between.values] != [cpus] * cpus:
            return "core_latencies has not one row and one column for each of its CPUs"
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
    """Whether the two directions of each pair, if known, agree within a tenth."""
    rows = matrix.values
    return all(
        there is None or back is None or math.isclose(there, back, rel_tol=tolerance)
        for i, row in enumerate(rows)
        for there, back in zip(row, (other[i] for other in rows), strict=True)
    )
