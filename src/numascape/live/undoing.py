# SPDX-License-Identifier: Apache-2.0
"""Moves pages and threads back, as an undo file says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from numascape.errors import NumascapeError
from numascape.live.file_cache import cached_mapping
from numascape.live.mappings import Mapping, read_mappings
from numascape.live.page_sets import PageSet, PagesToMove, as_now
from numascape.live.plans import Move, move_back
from numascape.live.targets import TargetProcess, target_of
from numascape.live.undo import MappedFile, Undo


@contextmanager
def moved_back(undo: Undo) -> Iterator[Move]:
    """Yield the move that puts everything back; it can be carried out inside the block.

    This process maps the files of the undo file meanwhile. Raises NumascapeError.
    """
    if not undo.files:
        yield move_back(undo)
        return
    own = target_of(os.getpid())
    assert own is not None
    with ExitStack() as stack:
        sets: list[PageSet] = []
        for file in undo.files:
            mapping = stack.enter_context(cached_mapping(_place(file, undo.target)))
            if file.path and mapping.inode != file.inode:
                raise NumascapeError(f"{file.path} is another file now: there is nothing to undo")
            sets += _of_file(undo, file, mapping)
        yield Move(
            own,
            PagesToMove(tuple(as_now(own, sets)), 0),
            (),
            file=Path(undo.files[0].path) if undo.target is None else None,
            owner=undo.target,
            shared=undo.shared,
        )


def _place(file: MappedFile, owner: TargetProcess | None) -> Path:
    """A path by which the file can be opened. Raises NumascapeError if there is none any more."""
    if owner is None:
        return Path(file.path)
    for mapping in read_mappings(owner, with_policies=False):
        if (mapping.device, mapping.inode) == (file.device, file.inode):
            return owner.folder / "map_files" / f"{mapping.start:x}-{mapping.end:x}"
    raise NumascapeError(f"{owner} no longer maps the segment: there is nothing to undo")


def _of_file(undo: Undo, file: MappedFile, mapping: Mapping) -> Iterator[PageSet]:
    """The pages of a file at the addresses where it is mapped now. It may have become shorter."""
    shift = np.uint64((mapping.start - file.start) % (1 << 64))
    for pages in undo.sets:
        own = (pages.addresses >= file.start) & (pages.addresses < file.start + file.bytes)
        addresses = pages.addresses + shift
        own &= addresses + pages.sizes <= mapping.end
        if own.any():
            yield replace(pages, addresses=addresses).chosen(own)
