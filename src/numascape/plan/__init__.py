# SPDX-License-Identifier: Apache-2.0
"""Plans: the CPUs of threads and the nodes of pages, as data; `document` reads and writes them.

The document has a module of its own, because loading its checks takes long. Predictions need plans,
but not their documents.
"""

from numascape.plan.plan import Plan, StructureRule, ThreadRule

__all__ = ["Plan", "StructureRule", "ThreadRule"]
