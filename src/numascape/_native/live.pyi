# SPDX-License-Identifier: Apache-2.0
"""The pages of running processes; see src/native/live/."""

from typing import Any

import numpy as np
import numpy.typing as npt

FILE: int
"""Flag: a page of a file or of shared memory; otherwise anonymous."""
SWAPPED: int
"""Flag: not in memory, or being moved at the moment."""
HUGE: int
"""Flag: part of a huge page; only kernels with PAGEMAP_SCAN (6.7) tell it."""
NOT_TRIED: int
"""The kernel did not try to move the page, or did not say what came of it."""

NOT_MAPPED: int
"""An element of `nodes` in add_file_nodes: no process has the page in its page table."""
IN_HUGE_PAGE: int
"""Added to the node of a page in a transparent huge page."""

class CachedFile:
    """A file, mapped into this process with those of its pages that are in the page cache."""

    def __init__(self, path: str) -> None:
        """Map it. Raises OSError: EPERM if the kernel does not tell this user what is cached."""

    @property
    def start(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def close(self) -> None:
        """Unmap it; the pages stay in the page cache."""

def count_pages(
    pid: int,
    pagemap: str,
    parts: npt.NDArray[np.uint64],
    threads: int,
    every: int,
) -> dict[str, Any]:
    """Bytes of parts: columns `part`, `node` (-1: unknown), `flags`, `bytes`; raises OSError.

    `parts` has a row for each part: its start, its end, the size of its pages, its memory (0:
    unknown, 1: anonymous, 2: of files), and the node of all its pages (2^64 - 1: unknown, and the
    kernel is asked for each page).
    With `every` above 1 (a power of two), one window of 2 MiB in this many is looked at.
    `tells_huge_pages`: whether the kernel told transparent huge pages apart.
    `cells` is a dictionary of columns: `part`, `cell`, `node`, `bytes`. The cells of a part are
    ranges of `cells["cell_bytes"][part]` addresses, at most 32.
    """

def list_pages(
    pid: int, pagemap: str, start: int, end: int, page_bytes: int
) -> dict[str, npt.NDArray[np.generic]]:
    """The pages in memory: columns `address`, `node` (or -errno), `flags`, `bytes`.

    Raises OSError.
    """

def add_file_nodes(
    pid: int,
    pagemap: str,
    start: int,
    end: int,
    page_bytes: int,
    nodes: npt.NDArray[np.int16],
) -> None:
    """Enter the pages of a file that a process maps at these addresses; raises OSError.

    `nodes` has an element for each page: its node (-1: unknown), or NOT_MAPPED. Pages that already
    have a node are not asked for again. Private copies of pages are left out.
    """

def page_runs(pagemap: str, start: int, end: int) -> dict[str, npt.NDArray[np.generic]]:
    """Runs of pages in memory or swapped: columns `start`, `end`, `flags`; raises OSError."""

def query_nodes(pid: int, addresses: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """The node of each page, or a negative errno; raises OSError."""

def read_words(pid: int, addresses: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The words of 8 bytes at these addresses, 0 where there is no memory; raises OSError.

    Pages that are not in memory would be brought there: ask only for those that are.
    """

def move_pages(
    pid: int,
    addresses: npt.NDArray[np.uint64],
    nodes: npt.NDArray[np.int32],
    shared: bool,
) -> tuple[int, npt.NDArray[np.int32]]:
    """Move pages: the errno of the call (0: none), and by page its node, -errno or NOT_TRIED.

    `shared`: also pages that other processes map, which needs CAP_SYS_NICE.
    """
