# SPDX-License-Identifier: Apache-2.0
"""Pinned memory is told apart where the kernel tells."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numascape.live.moving import BUSY, PINNED, Pace, move_pages
from numascape.live.page_sets import PageSet
from numascape.live.pinned import in_buffers, pinned_bytes
from numascape.live.targets import target_of
from numascape.trace.format import PAGE_BYTES

PAGES = 8
# System calls, and an operation of the second (linux/io_uring.h).
IO_URING_SETUP, IO_URING_REGISTER = 425, 427
REGISTER_BUFFERS = 0


class Buffer(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


@pytest.fixture
def registered() -> Iterator[int]:
    """The address of pages, of which the second half is a registered buffer of an io_uring."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    ring = call(IO_URING_SETUP, 8, ctypes.create_string_buffer(120))
    if ring < 0:
        pytest.skip(f"no io_uring here: {os.strerror(ctypes.get_errno())}")
    with mmap.mmap(-1, PAGES * PAGE_BYTES) as area:
        area[:] = b"x" * len(area)
        first = ctypes.addressof(ctypes.c_char.from_buffer(area))
        half = len(area) // 2
        buffer = Buffer(first + half, half)
        assert call(IO_URING_REGISTER, ring, REGISTER_BUFFERS, ctypes.byref(buffer), 1) == 0
        yield first
        os.close(ring)


def test_pages_of_a_registered_buffer_are_pinned(
    registered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate that the kernel moves none of the pages, because they are busy."""
    target = target_of(os.getpid())
    assert target is not None
    addresses = registered + PAGE_BYTES * np.arange(PAGES, dtype=np.uint64)
    assert in_buffers(target, addresses).tolist() == [False] * (PAGES // 2) + [True] * (PAGES // 2)
    assert pinned_bytes(target) >= PAGES // 2 * PAGE_BYTES

    def busy(_pid: int, given: Any, _nodes: Any, _all: bool) -> tuple[int, Any]:
        return 0, np.full(len(given), -errno.EBUSY, np.int32)

    monkeypatch.setattr("numascape.live.moving.native.move_pages", busy)
    monkeypatch.setattr("numascape.live.moving.Room.grant", lambda *_: True)
    sizes = np.full(PAGES, PAGE_BYTES, np.uint32)
    nodes = np.zeros(PAGES, np.int32)
    pages = PageSet("area", "", 0, PAGE_BYTES, addresses, sizes, nodes, nodes + 1)
    account = move_pages(target, [pages], Pace())
    assert account.failed == {BUSY: PAGES // 2 * PAGE_BYTES, PINNED: PAGES // 2 * PAGE_BYTES}
    assert account.pinned >= PAGES // 2 * PAGE_BYTES


def test_a_process_that_has_ended_has_no_pinned_memory(tmp_path: Path) -> None:
    target = target_of(os.getpid())
    assert target is not None
    ended = type(target)(target.pid, target.name, target.started, tmp_path)
    assert pinned_bytes(ended) == 0
    assert not in_buffers(ended, np.zeros(2, np.uint64)).any()
