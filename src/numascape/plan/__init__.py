# SPDX-License-Identifier: Apache-2.0
"""Plans: the CPUs of threads and the nodes of pages, as data and as a document."""

from numascape.plan.document import read_plan, write_plan
from numascape.plan.plan import Plan, StructureRule, ThreadRule

__all__ = ["Plan", "StructureRule", "ThreadRule", "read_plan", "write_plan"]
