# SPDX-License-Identifier: Apache-2.0
"""Names of a program's structures: the variable or field that an allocation's result goes to."""

from numascape.naming.allocations import (
    AllocationName,
    AllocationSite,
    allocation_site,
    name_allocation,
    name_allocations,
)
from numascape.naming.frames import CallFrame

__all__ = [
    "AllocationName",
    "AllocationSite",
    "CallFrame",
    "allocation_site",
    "name_allocation",
    "name_allocations",
]
