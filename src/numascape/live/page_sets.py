# SPDX-License-Identifier: Apache-2.0
"""The pages that a move concerns: where each one is, and where it should be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from numascape._native import live as native
from numascape.errors import NumascapeError
from numascape.live.mappings import Mapping, not_permitted
from numascape.live.parts import Part
from numascape.live.policies import STAYS, Addresses, NodeNumbers, Placement
from numascape.live.refusals import calls_refused
from numascape.live.targets import TargetProcess
from numascape.trace.format import PAGE_BYTES

# The kernel is asked for the pages of at most this many bytes of addresses at a time.
_WINDOW = 1 << 30


@dataclass(frozen=True)
class PageSet:
    """Pages of one mapping (`path` and `inode`; "" and 0: anonymous) that are to be moved.

    Arrays of equal length: address, bytes, node before, and node that is wanted.
    """

    name: str
    path: str
    inode: int
    page_bytes: int
    addresses: Addresses
    sizes: npt.NDArray[np.uint32]
    before: NodeNumbers
    wanted: NodeNumbers

    @property
    def total(self) -> int:
        """The bytes of all pages."""
        return int(self.sizes.sum(dtype=np.uint64))

    def chosen(self, which: npt.NDArray[np.bool_] | slice) -> PageSet:
        """Some of the pages."""
        return replace(
            self,
            addresses=self.addresses[which],
            sizes=self.sizes[which],
            before=self.before[which],
            wanted=self.wanted[which],
        )


@dataclass(frozen=True)
class PagesToMove:
    """The pages to move, and the bytes of those that are already where they should be."""

    sets: tuple[PageSet, ...]
    in_place: int

    @property
    def total(self) -> int:
        """The bytes to move."""
        return sum(pages.total for pages in self.sets)


def find_pages(
    target: TargetProcess, mappings: Sequence[Mapping], chosen: Sequence[tuple[Part, Placement]]
) -> PagesToMove:
    """The pages in memory of these parts. Raises NumascapeError as take_snapshot does."""
    sets, in_place = [], 0
    for part, policy in chosen:
        mapping = mappings[part.mapping]
        for start, end in _windows(part):
            found, stays = _pages(target, mapping, part, policy, start, end)
            in_place += stays
            if len(found.addresses):
                sets.append(found)
    return PagesToMove(tuple(sets), in_place)


def listed_pages(
    target: TargetProcess, part: Part
) -> Iterator[tuple[Addresses, npt.NDArray[np.uint32], NodeNumbers]]:
    """The pages in memory of a part, in windows: addresses, sizes, nodes (-1: unknown).

    Raises NumascapeError as take_snapshot does.
    """
    for start, end in _windows(part):
        listed = _listed(target, start, end, part.page_bytes)
        yield listed["address"], listed["bytes"], listed["node"]


def _windows(part: Part) -> Iterator[tuple[int, int]]:
    for start in range(part.start, part.end, _WINDOW):
        yield start, min(part.end, start + _WINDOW)


def _pages(
    target: TargetProcess, mapping: Mapping, part: Part, policy: Placement, start: int, end: int
) -> tuple[PageSet, int]:
    listed = _listed(target, start, end, part.page_bytes)
    addresses: Addresses = listed["address"].astype(np.uint64)
    now: NodeNumbers = listed["node"].astype(np.int32)
    sizes: npt.NDArray[np.uint32] = listed["bytes"].astype(np.uint32)
    wanted = policy.wanted(part, addresses, now)
    known = now >= 0  # not the zero page
    moves = known & (wanted != STAYS) & (wanted != now)
    stays = int(sizes[known & ~moves].sum(dtype=np.uint64))
    pages = PageSet(
        part.name,
        mapping.path,
        mapping.inode,
        part.page_bytes,
        addresses[moves],
        sizes[moves],
        now[moves],
        wanted[moves],
    )
    return pages, stays


def _listed(target: TargetProcess, start: int, end: int, page_bytes: int) -> dict[str, Any]:
    try:
        return native.list_pages(target.pid, str(target.folder / "pagemap"), start, end, page_bytes)
    except PermissionError as error:
        raise NumascapeError(calls_refused() or not_permitted(target)) from error
    except (ProcessLookupError, FileNotFoundError) as error:
        raise NumascapeError(f"{target} has ended") from error


def as_now(target: TargetProcess, sets: Sequence[PageSet]) -> list[PageSet]:
    """The sets with the present nodes, without pages that are in place or not in memory.

    If the kernel has divided a transparent huge page, its small pages replace it. Raises
    NumascapeError.
    """
    found = []
    for pages in sets:
        divided = [_divided(target, pages, at) for at in np.flatnonzero(pages.sizes > PAGE_BYTES)]
        small = pages.chosen(pages.sizes == PAGE_BYTES)
        for one in (small, *divided):
            if len(one.addresses):
                now = query(target, one.addresses)
                moves = (now >= 0) & (now != one.wanted)
                found.append(replace(one, before=now).chosen(moves))
    return [pages for pages in found if len(pages.addresses)]


def _divided(target: TargetProcess, pages: PageSet, at: int) -> PageSet:
    start, size = int(pages.addresses[at]), int(pages.sizes[at])
    listed = _listed(target, start, start + size, pages.page_bytes)
    addresses: Addresses = listed["address"].astype(np.uint64)
    nodes: NodeNumbers = np.full(len(addresses), pages.wanted[at], np.int32)
    sizes: npt.NDArray[np.uint32] = listed["bytes"].astype(np.uint32)
    return replace(pages, addresses=addresses, sizes=sizes, before=nodes, wanted=nodes)


def query(target: TargetProcess, addresses: Addresses) -> NodeNumbers:
    """The nodes of pages. Raises NumascapeError."""
    try:
        return native.query_nodes(target.pid, addresses)
    except PermissionError as error:
        raise NumascapeError(calls_refused() or not_permitted(target)) from error
    except ProcessLookupError as error:
        raise NumascapeError(f"{target} has ended") from error
