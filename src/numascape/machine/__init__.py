# SPDX-License-Identifier: Apache-2.0
"""Machines: their topology, the speed of their memory, and the sources of these values."""

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
