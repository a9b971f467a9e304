# SPDX-License-Identifier: Apache-2.0
"""Exports a machine for other programs: Scotch's target architecture, and matrices as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Literal

from numascape.errors import NumascapeError
from numascape.machine.description import Machine
from numascape.machine.factors import Known, bandwidths, latencies, numa_factors

MatrixName = Literal["factors", "latency", "bandwidth", "distances"]


def matrix_csv(machine: Machine, matrix: MatrixName) -> str:
    """A line per node of CPUs, a column per node of memory; unknown values are empty.

    NUMA factors have no unit, latencies are in ns, bandwidths in GB/s, distances are SLIT's.
    """
    if matrix == "distances":
        values = machine.distances.values if machine.distances else ()
    else:
        values = _known_matrix(machine, matrix).values
    if not any(value is not None for row in values for value in row):
        raise NumascapeError(f"the {matrix} of {machine.name} is unknown")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["node", *(node.node for node in machine.nodes)])
    for node, row in zip(machine.nodes, values, strict=True):
        cells = ("" if value is None else f"{value:.6g}" for value in row)
        writer.writerow([node.node, *cells])
    return text.getvalue()


def _known_matrix(machine: Machine, matrix: MatrixName) -> Known:
    if matrix == "factors":
        return numa_factors(machine)
    return latencies(machine) if matrix == "latency" else bandwidths(machine)


# The distance of cores within a node, whose factor is 1; Scotch's distances are integers.
_UNIT = 10


def scotch_architecture(machine: Machine) -> str:
    """The cores as terminals of Scotch's target, with distances by NUMA factor.

    As Scotch has one distance per pair, it is ten times the larger factor of both directions.
    """
    place = {cpu: i for i, node in enumerate(machine.nodes) for cpu in node.cpus}
    cores = sorted((core for core in machine.cores if core), key=lambda core: place[core[0]])
    factors = numa_factors(machine).values
    nodes = [place[core[0]] for core in cores]
    return scotch_target(len(nodes), lambda i, j: _factor(factors, nodes[i], nodes[j], machine))


def scotch_target(cores: int, cost: Callable[[int, int], float]) -> str:
    """The cores as terminals of a decomposition-defined target (`deco 0`; Scotch user's guide).

    The binary tree of domains halves the list of cores, which are in the order of their nodes. The
    distance is 10 times the `cost` of two cores.
    """
    terminals = _terminals(1, cores)
    lines = ["deco", "0", f"{cores}\t{max(terminals)}"]
    lines += [f"{label}\t1\t{terminal}" for label, terminal in enumerate(terminals)]
    for second in range(1, cores):
        row = (max(1, round(_UNIT * cost(first, second))) for first in range(second))
        lines.append(" ".join(map(str, row)))
    return "\n".join(lines) + "\n"


def _terminals(domain: int, cores: int) -> list[int]:
    """Numbers of the leaves below `domain`, whose halves are 2 x domain and 2 x domain + 1."""
    if cores == 1:
        return [domain]
    half = (cores + 1) // 2
    return [*_terminals(2 * domain, half), *_terminals(2 * domain + 1, cores - half)]


def _factor(
    factors: tuple[tuple[float | None, ...], ...], i: int, j: int, machine: Machine
) -> float:
    there, back = factors[i][j], factors[j][i]
    if there is None or back is None:
        raise NumascapeError(
            f"the NUMA factor between nodes {machine.nodes[i].node} and {machine.nodes[j].node} of "
            f"{machine.name} is unknown, and Scotch needs all of them"
        )
    return max(there, back)
