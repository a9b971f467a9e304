# SPDX-License-Identifier: Apache-2.0
"""Plans: the CPUs of threads and the nodes of pages, as data; `document` reads and writes them.

The document is a module of its own, because predictions need plans, and loading its checks takes
longer than all of them.
"""

from numascape.plan.plan import Plan, StructureRule, ThreadRule

__all__ = ["Plan", "StructureRule", "ThreadRule"]
