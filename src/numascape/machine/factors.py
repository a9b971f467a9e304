# SPDX-License-Identifier: Apache-2.0
"""Computes NUMA factors from the best known values of a machine, with their sources.

NUMA factor (i, j) = read latency from node i to memory of node j / read latency on node i.
"""

from __future__ import annotations

from dataclasses import dataclass

from numascape.machine.description import Machine, Matrix, Provenance


@dataclass(frozen=True)
class Known:
    """A matrix combined from several sources, with the provenance of each value."""

    values: tuple[tuple[float | None, ...], ...]
    provenance: tuple[tuple[Provenance | None, ...], ...]

    def sources(self) -> list[Provenance]:
        """The distinct provenances, the most frequent first, without that of factors of 1."""
        every = [cell for row in self.provenance for cell in row if cell and cell != _LOCAL]
        return sorted(dict.fromkeys(every), key=every.count, reverse=True)


_LOCAL = Provenance("assumed", "memory of the same node, by definition")


def numa_factors(machine: Machine) -> Known:
    """The NUMA factor of each pair; unknown in rows of nodes without CPUs.

    The value of a pair is from the first source that has it: latencies (measured, HMAT or
    published, in the machine's order), published factors, and the ratio of SLIT distances.
    """
    rows = []
    for i, node in enumerate(machine.nodes):
        if node.cpus:
            rows.append([_factor(machine, i, j) for j in range(len(machine.nodes))])
        else:
            rows.append([(None, None)] * len(machine.nodes))
    return _known(rows)


def latencies(machine: Machine) -> Known:
    """The read latency of each pair in ns, from the first matrix that has it."""
    return _first(machine, machine.latencies)


def bandwidths(machine: Machine, operation: str = "read") -> Known:
    """The bandwidth of each pair in GB/s, from the first matrix of the operation that has it."""
    return _first(machine, tuple(m for m in machine.bandwidths if m.operation == operation))


_Cell = tuple[float | None, Provenance | None]


def _factor(machine: Machine, i: int, j: int) -> _Cell:
    for matrix in machine.latencies:
        own, other = matrix.values[i][i], matrix.values[i][j]
        if own is not None and other is not None:
            return other / own, matrix.provenance
    for matrix in machine.factors:
        value = matrix.values[i][j]
        if value is not None:
            return value, matrix.provenance
    if machine.distances is not None:
        own, other = machine.distances.values[i][i], machine.distances.values[i][j]
        if own is not None and other is not None:
            return other / own, machine.distances.provenance
    return (1.0, _LOCAL) if i == j else (None, None)


def _first(machine: Machine, matrices: tuple[Matrix, ...]) -> Known:
    size = len(machine.nodes)
    return _known([[_value(matrices, i, j) for j in range(size)] for i in range(size)])


def _value(matrices: tuple[Matrix, ...], i: int, j: int) -> _Cell:
    for matrix in matrices:
        value = matrix.values[i][j]
        if value is not None:
            return value, matrix.provenance
    return None, None


def _known(rows: list[list[_Cell]]) -> Known:
    return Known(
        tuple(tuple(cell[0] for cell in row) for row in rows),
        tuple(tuple(cell[1] for cell in row) for row in rows),
    )
