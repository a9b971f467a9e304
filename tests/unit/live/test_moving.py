# SPDX-License-Identifier: Apache-2.0
"""A move can end early. tests/vm/test_live.py moves pages between nodes."""

from __future__ import annotations

import ctypes
import errno
import itertools
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from numascape import NumascapeError
from numascape.live.mappings import read_mappings
from numascape.live.moving import LARGEST_STEP, Pace, move_pages
from numascape.live.page_sets import PageSet, query
from numascape.live.targets import TargetProcess, target_of
from numascape.trace.format import PAGE_BYTES

STEPS = 4
ATTEMPTS = 3  # of each step


@pytest.fixture
def target() -> TargetProcess:
    found = target_of(os.getpid())
    assert found is not None
    return found


@pytest.fixture
def pages(target: TargetProcess) -> Iterator[PageSet]:
    """Pages of this process for at least STEPS steps; they are already on the wanted nodes."""
    size = STEPS * LARGEST_STEP
    with mmap.mmap(-1, size) as area:
        area[:] = b"x" * size
        first = ctypes.addressof(ctypes.c_char.from_buffer(area))
        addresses = first + PAGE_BYTES * np.arange(size // PAGE_BYTES, dtype=np.uint64)
        nodes = query(target, addresses)
        sizes = np.full(len(addresses), PAGE_BYTES, np.uint32)
        yield PageSet("area", "", 0, PAGE_BYTES, addresses, sizes, nodes, nodes)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_stop_ends_a_move_after_the_present_step(
    target: TargetProcess, pages: PageSet, steps: int
) -> None:
    asked = itertools.count()
    account = move_pages(target, [pages], Pace(is_stopped=lambda: next(asked) >= steps))
    assert account.ending == "interrupted"
    assert account.steps == steps
    assert account.tried == account.verified <= steps * LARGEST_STEP < pages.total


def test_the_first_step_is_small_and_a_stop_asks_nothing_more(
    target: TargetProcess, pages: PageSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate moves that take no time and succeed."""
    moved, asked = list[int](), list[int]()

    def moves(_pid: int, addresses: Any, nodes: Any, _all: bool) -> tuple[int, Any]:
        moved.append(len(addresses))
        return 0, nodes

    def arrived(_pid: int, addresses: Any) -> Any:
        asked.append(len(addresses))
        return np.ones(len(addresses), np.int32)

    monkeypatch.setattr("numascape.live.moving.native.move_pages", moves)
    monkeypatch.setattr("numascape.live.moving.native.query_nodes", arrived)
    monkeypatch.setattr("numascape.live.moving.time", SimpleNamespace(monotonic=lambda: 0.0))
    monkeypatch.setattr("numascape.live.moving.Room.grant", lambda *_: True)
    stops = itertools.count()
    elsewhere = replace(
        pages, before=np.zeros_like(pages.before), wanted=np.ones_like(pages.wanted)
    )
    account = move_pages(target, [elsewhere], Pace(is_stopped=lambda: next(stops) >= 3))
    assert moved == asked == [32, 64, 128]
    assert (account.ending, account.steps) == ("interrupted", 3)
    assert account.tried == account.verified == 224 * PAGE_BYTES


# Executes itself when it gets input.
EXECUTES = """
import os, sys
kept = bytearray(1 << 22)
print("ready", flush=True)
sys.stdin.readline()
os.execv(sys.executable, [sys.executable, "-c", "print('again', flush=True); input()"])
"""


@pytest.mark.program
def test_a_move_ends_when_the_process_executes_a_program() -> None:
    with subprocess.Popen([sys.executable, "-c", EXECUTES], stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hear, say = process.stdout, process.stdin
        assert hear.readline() == b"ready\n"
        target = target_of(process.pid)
        assert target is not None
        (heap,) = (one for one in read_mappings(target) if one.path == "[heap]")
        addresses = np.arange(heap.start, heap.end, PAGE_BYTES, dtype=np.uint64)
        nodes = np.zeros(len(addresses), np.int32)
        sizes = np.full(len(addresses), LARGEST_STEP, np.uint32)  # each is a step
        pages = PageSet("heap", "", 0, PAGE_BYTES, addresses, sizes, nodes, nodes)
        asked = itertools.count()

        def executes() -> bool:
            if next(asked) == 1:
                say.write(b"\n")
                say.flush()
                assert hear.readline() == b"again\n"
            return False

        account = move_pages(target, [pages], Pace(is_stopped=executes))
        process.kill()
    assert (account.ending, account.steps) == ("the process executed another program", 1)


def test_a_stop_ends_the_waiting_for_the_rate(target: TargetProcess, pages: PageSet) -> None:
    asked = itertools.count()
    # At a byte per second, a step would take weeks.
    pace = Pace(bytes_per_s=1.0, is_stopped=lambda: next(asked) >= 2)
    account = move_pages(target, [pages], pace)
    assert (account.ending, account.steps) == ("interrupted", 1)


@pytest.mark.parametrize("steps", [0, 1])
def test_what_was_moved_is_told_if_the_kernel_forbids_the_rest(
    target: TargetProcess, pages: PageSet, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate that the process changes its user in the middle."""
    calls = itertools.count()

    def refuses(_pid: int, addresses: Any, _nodes: Any, _all: bool) -> tuple[int, Any]:
        # A call without addresses only asks whether the call is allowed.
        number = next(calls) if len(addresses) else -1
        return errno.EPERM if number >= steps * ATTEMPTS else 0, np.zeros(len(addresses), np.int32)

    monkeypatch.setattr("numascape.live.moving.native.move_pages", refuses)
    monkeypatch.setattr("numascape.live.moving.Room.grant", lambda *_: True)
    elsewhere = replace(pages, wanted=pages.wanted + 1)
    if not steps:
        with pytest.raises(NumascapeError, match="may not be changed by this user: use sudo"):
            move_pages(target, [elsewhere], Pace())
        return
    account = move_pages(target, [elsewhere], Pace())
    assert account.ending.startswith("the kernel forbids the rest: process ")
    assert (account.steps, account.verified) == (1, 0)
    assert account.tried == sum(account.failed.values()) < elsewhere.total
