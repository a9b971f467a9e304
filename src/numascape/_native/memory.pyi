# SPDX-License-Identifier: Apache-2.0
"""Marks of memory for the recorder; see include/numascape/region.h."""

def begin_region(name: str, array: object) -> None:
    """Name the memory of an array.

    Raises BufferError, ValueError or RuntimeError if it has no contiguous memory.
    """

def end_region(array: object) -> None:
    """End the last region that began where the array does."""
