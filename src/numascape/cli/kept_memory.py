# SPDX-License-Identifier: Apache-2.0
"""Keeps freed memory in this process for its next tables.

The allocators return large freed blocks to the kernel. The kernel fills each page with zeros when
it is used again. For the tables of a large run, this took up to a third of the time of `advise`.
"""

from __future__ import annotations

import os
from typing import Final

# From glibc's malloc.h.
_TRIM_THRESHOLD: Final = -1
_MMAP_MAX: Final = -4
# The allocator of Polars. Runs of longer commands are larger, and then memory matters more.
_POLARS: Final = ("_RJEM_MALLOC_CONF", "dirty_decay_ms:2000,muzzy_decay_ms:2000")


def keep_freed_memory() -> None:
    """Let the allocators of this process keep what is freed. Call it before Polars is imported."""
    import ctypes  # takes long to load for other commands

    os.environ.setdefault(*_POLARS)
    change = getattr(ctypes.CDLL(None), "mallopt", None)
    if change is not None:  # other C libraries have no such function
        change(_MMAP_MAX, 0)
        change(_TRIM_THRESHOLD, -1)
