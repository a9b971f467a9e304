# SPDX-License-Identifier: Apache-2.0
"""Names parts of memory, for Python programs that divide memory themselves."""

from __future__ import annotations

from numascape._native import memory
from numascape.errors import NumascapeError

# Raised by objects without memory, or whose memory is not one piece.
_NO_MEMORY = (BufferError, TypeError, ValueError, RuntimeError)


def region(name: str, array: object) -> None:
    """Name the memory of an array, until `region_end` is called or the memory is freed.

    `array` is an object with contiguous memory: a NumPy array or a part of one, a `memoryview`, a
    tensor of PyTorch on the CPU. Where the program is not recorded, this does nothing.

    Raises NumascapeError if the object has no contiguous memory.
    """
    try:
        memory.begin_region(name, array)
    except _NO_MEMORY as error:
        raise _without_memory(array, error) from error


def region_end(array: object) -> None:
    """End the latest region whose memory begins at the first byte of the array.

    Raises NumascapeError if the object has no contiguous memory.
    """
    try:
        memory.end_region(array)
    except _NO_MEMORY as error:
        raise _without_memory(array, error) from error


def _without_memory(array: object, error: Exception) -> NumascapeError:
    kind = type(array).__name__
    reason = " ".join(str(error).split())
    return NumascapeError(
        f"a region must be an object with contiguous memory on this machine, not {kind}: {reason}"
    )
