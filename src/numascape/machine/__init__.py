# SPDX-License-Identifier: Apache-2.0
"""Machines: what they are made of, how fast their memory is, and how that is known."""

from numascape.machine.description import Machine, MachineNode, Matrix, Provenance
from numascape.machine.document import read_machine, write_machine
from numascape.machine.factors import numa_factors
from numascape.machine.sources import open_machine, shipped_machines

__all__ = [
    "Machine",
    "MachineNode",
    "Matrix",
    "Provenance",
    "numa_factors",
    "open_machine",
    "read_machine",
    "shipped_machines",
    "write_machine",
]
