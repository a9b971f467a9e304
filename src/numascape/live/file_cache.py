# SPDX-License-Identifier: Apache-2.0
"""Moves the page cache of a file, whether or not a process maps it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numascape._native.live import CachedFile
from numascape.errors import NumascapeError
from numascape.live.mappings import Mapping
from numascape.live.page_sets import find_pages
from numascape.live.parts import Namer
from numascape.live.plans import Move, usual_nodes
from numascape.live.policies import check_nodes, parse_policy
from numascape.live.room import usable_nodes
from numascape.live.selection import select_file
from numascape.live.targets import target_of
from numascape.live.undo import MappedFile


@contextmanager
def cache_move(path: Path, tensors: str | None, text: str) -> Iterator[Move]:
    """Yield a move of the file's page cache by a policy; it can be carried out inside the block.

    This process maps the cached pages meanwhile, and is the target of the move. Raises
    NumascapeError.
    """
    target = target_of(os.getpid())
    assert target is not None
    with cached_mapping(path) as mapping:
        usable = usable_nodes(target)
        policy = parse_policy(text, usual_nodes(target, usable), ())
        check_nodes(policy.nodes, usable)
        parts = Namer(target).parts([mapping], [])
        selection = select_file(parts, [mapping], path, tensors, policy)
        pages = find_pages(target, [mapping], selection.chosen)
        yield Move(target, pages, (), file=path, mapped=(mapped_file(mapping, mapping.path),))


def mapped_file(mapping: Mapping, path: str) -> MappedFile:
    """What an undo file needs to know of a mapping of `cached_mapping`."""
    size = mapping.end - mapping.start
    return MappedFile(path, mapping.device, mapping.inode, mapping.start, size)


@contextmanager
def cached_mapping(path: Path) -> Iterator[Mapping]:
    """Map the cached pages of a file into this process. Raises NumascapeError."""
    try:
        status = path.stat()
        cached = CachedFile(str(path))
        # /proc/PID/maps has the resolved path.
        whole = path.resolve()
    except OSError as error:
        raise NumascapeError(_why_not(path, error)) from error
    end = cached.start + cached.bytes
    try:
        device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
        yield Mapping(cached.start, end, "r--s", 0, device, status.st_ino, str(whole))
    finally:
        cached.close()


def _why_not(path: Path, error: OSError) -> str:
    if error.errno == errno.EPERM:
        return f"{path}: the kernel reports its page cache only to its owner, or to root"
    if error.errno == errno.EINVAL:
        return f"{path} is empty or no regular file, or this kernel is older than Linux 5.14"
    return f"{path}: {error.strerror}"
