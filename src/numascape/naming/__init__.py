# SPDX-License-Identifier: Apache-2.0
"""Finds names of structures: the variable or field that the result of an allocation goes to."""

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
