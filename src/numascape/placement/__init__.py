# SPDX-License-Identifier: Apache-2.0
"""Plans: which CPUs threads run on and which nodes pages lie on; making, reading, carrying out."""

from numascape.placement.document import read_plan, write_plan
from numascape.placement.plan import Plan, StructureRule, ThreadRule

__all__ = ["Plan", "StructureRule", "ThreadRule", "read_plan", "write_plan"]
