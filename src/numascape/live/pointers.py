# SPDX-License-Identifier: Apache-2.0
"""Names of anonymous memory, by the global variables that point to it.

The variables are read while the process runs. Only pages in memory are read, so that no page is
brought there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape._native import live as native
from numascape.live.mappings import Mapping
from numascape.live.targets import TargetProcess
from numascape.live.variables import Variable
from numascape.trace.format import PAGE_BYTES

Words = npt.NDArray[np.uint64]
# glibc, malloc/malloc.c: before each block are two words: the bytes between the start of the
# mapping and these words, and the size with flags. Large blocks are mapped alone.
_HEADER: Final = 16
_FLAGS, _IS_MAPPED = 7, 2
# Blocks of which the ends are looked for in one mapping.
_MOST_BLOCKS: Final = 256
# More variables than this in one process are not read.
_MOST_POINTERS: Final = 1 << 16


@dataclass(frozen=True)
class Pointed:
    """Addresses to whose start exactly one variable points."""

    start: int
    end: int
    variable: Variable


def pointed_memory(
    target: TargetProcess, mappings: Sequence[Mapping], pointers: Sequence[Variable]
) -> list[Pointed]:
    """The anonymous mappings, and large blocks of malloc in them, that one variable points to.

    A pointer counts only if it is the only one to this address, and if something begins there for
    sure: a mapping, a block of malloc, or what follows such a block. Ascending, without overlap.
    Empty if this user may not read the memory of the process.
    """
    anonymous = [one for one in mappings if _is_anonymous(one)]
    if not anonymous or not 0 < len(pointers) <= _MOST_POINTERS:
        return []
    with suppress(OSError):
        addresses = np.array([one.start for one in pointers], np.uint64)
        values = _read(target, mappings, addresses)
        found = []
        for mapping in anonymous:
            inside = (values >= mapping.start) & (values < mapping.end)
            if inside.any():
                by_value = _by_value(
                    values[inside], [pointers[at] for at in np.flatnonzero(inside)]
                )
                found += _in_mapping(target, mapping, by_value)
        return found
    return []


def _is_anonymous(mapping: Mapping) -> bool:
    """Whether it has no name but its address."""
    return "w" in mapping.permissions and mapping.path in {"", "/dev/zero", "/anon_hugepage"}


def _by_value(values: Words, variables: Sequence[Variable]) -> dict[int, list[Variable]]:
    found: dict[int, list[Variable]] = {}
    for value, variable in zip(values.tolist(), variables, strict=True):
        found.setdefault(value, []).append(variable)
    return found


def _in_mapping(
    target: TargetProcess, mapping: Mapping, by_value: dict[int, list[Variable]]
) -> list[Pointed]:
    """The memory in one mapping, which the kernel may have joined from several."""
    blocks = _blocks(target, mapping, sorted(by_value))
    inside = sorted({block for block in blocks.values() if block is not None})
    # Where something begins for sure.
    starts = {mapping.start, *_ends_of_blocks(target, mapping, inside)}
    # What is behind any other pointer to a page may be another structure.
    limits = [value for value in by_value if value % PAGE_BYTES == 0 and not blocks.get(value)]
    limits += [*starts, *(start for start, _ in inside), mapping.end]
    found: list[Pointed] = []
    for value, named in sorted(by_value.items()):
        block = blocks.get(value)
        if block is None and value in starts:
            block = (value, min(limit for limit in limits if limit > value))
        is_free = block is not None and (not found or found[-1].end <= block[0])
        if block is not None and is_free and len(named) == 1:
            found.append(Pointed(*block, named[0]))
    return found


def _blocks(
    target: TargetProcess, mapping: Mapping, values: Sequence[int]
) -> dict[int, tuple[int, int] | None]:
    """By pointer, the start and the end of the block of malloc that has a mapping of its own."""
    possible = [
        value for value in values if value % _HEADER == 0 and value - _HEADER >= mapping.start
    ]
    headers = np.array(possible, np.uint64) - np.uint64(_HEADER)
    before = _read(target, [mapping], headers)
    sizes = _read(target, [mapping], headers + np.uint64(_HEADER // 2))
    return {
        value: _block(mapping, value - _HEADER, skipped, size)
        for value, skipped, size in zip(possible, before.tolist(), sizes.tolist(), strict=True)
    }


def _block(mapping: Mapping, header: int, skipped: int, size: int) -> tuple[int, int] | None:
    """The addresses of a block with this header; None if it is no header."""
    start, end = header - skipped, header + size - (size & _FLAGS)
    is_block = size & _FLAGS == _IS_MAPPED and start % PAGE_BYTES == end % PAGE_BYTES == 0
    return (start, end) if is_block and mapping.start <= start < end <= mapping.end else None


def _ends_of_blocks(
    target: TargetProcess, mapping: Mapping, known: Sequence[tuple[int, int]]
) -> set[int]:
    """The ends of blocks of malloc that follow each other: at the start, and behind known ones."""
    ends: set[int] = set()
    for start in (mapping.start, *(end for _, end in known)):
        block: tuple[int, int] | None = (start, start)
        while block is not None and block[1] < mapping.end and len(ends) < _MOST_BLOCKS:
            header = block[1]
            words = np.array([header, header + _HEADER // 2], np.uint64)
            skipped, size = _read(target, [mapping], words).tolist()
            block = None if skipped else _block(mapping, header, skipped, size)
            if block is not None:
                ends.add(block[1])
    return ends | {end for _, end in known}


def _read(target: TargetProcess, mappings: Sequence[Mapping], addresses: Words) -> Words:
    """The words at these addresses; 0 for those that are not in these mappings and in memory."""
    words = np.zeros(len(addresses), np.uint64)
    present = np.zeros(len(addresses), bool)
    for mapping in mappings:
        inside = (addresses >= mapping.start) & (addresses < mapping.end)
        if inside.any():
            present[inside] = _in_memory(target, mapping, addresses[inside])
    words[present] = native.read_words(target.pid, addresses[present])
    return words


def _in_memory(target: TargetProcess, mapping: Mapping, addresses: Words) -> npt.NDArray[np.bool_]:
    """Whether the pages of these addresses in the mapping are in memory."""
    page = mapping.page_bytes
    start = int(addresses.min()) // page * page
    end = int(addresses.max()) // page * page + page
    runs = native.page_runs(str(target.folder / "pagemap"), start, end)
    present = runs["flags"].astype(np.uint8) & np.uint8(native.SWAPPED) == 0
    starts = runs["start"].astype(np.uint64)[present]
    ends = runs["end"].astype(np.uint64)[present]
    # Of the run that begins last before each address; the first one has no memory.
    ends = np.concatenate([np.zeros(1, np.uint64), ends])
    before: npt.NDArray[np.uint64] = ends[np.searchsorted(starts, addresses, side="right")]
    return addresses < before
