# SPDX-License-Identifier: Apache-2.0
"""Small runs that have most findings among them, for judged.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from synthetic.patterns import (
    Pattern,
    block_matmul,
    bucket_sort,
    many_phases,
    naive_matmul,
    seismic,
    sparse,
)
from synthetic.placed import Placed
from synthetic.write import touches_alone


def _placed(pattern: Pattern) -> Pattern:
    pattern.placed_by_first_touch = True
    return pattern


def _counted_lines() -> Pattern:
    """A structure that all threads read and one that two write, with their lines from memory."""
    pattern = Pattern("lines", 8)
    page, thread = np.arange(96)[None, :], np.arange(8)[:, None]
    read = pattern.structure("read", 96)
    pattern.access(read, page, thread, 4000 + 100 * thread, 0)
    pattern.touch(read, page, 0)
    written = pattern.structure("written", 40)
    for step in (0, 1):
        pattern.access(written, np.arange(40), (np.arange(40) + step) % 8, 900, 700)
    pattern.touch(written, np.arange(40), 3)
    pattern.accesses = [
        table.with_columns(memory_lines=pl.col("reads") // 8, written_lines=pl.col("writes") // 16)
        for table in pattern.accesses
    ]
    return pattern


def _uneven() -> Pattern:
    """Phases in which one thread does most, or other threads than before."""
    pattern = Pattern("uneven", 4)
    page = np.arange(320)
    a, b = pattern.structure("A", 320), pattern.structure("B", 64)
    for number, (name, shift) in enumerate((("fill", 0), ("sweep", 0), ("back", 1))):
        phase = pattern.phase(name, line=10 + number, repetitions=1 + number)
        owner = (page // 80 + shift) % 4
        pattern.access(a, page, owner, 3000 * (1 + 3 * (owner == 2)), 500, phase=phase)
        pattern.access(b, np.arange(64), 2, 800, 90 * number, phase=phase)
    pattern.touch(a, page, np.where(page < 200, 0, 3), phase=0)
    pattern.touch(b, np.arange(64), 1, phase=0)
    return pattern


def _elsewhere(threads_on: list[list[int]]) -> Pattern:
    """Each of 16 threads uses its part of A; a third of the pages is on another node, or unknown.

    Nobody touched B first, as far as is known.
    """
    pattern = Placed("elsewhere", 16)
    page = np.arange(320)
    a, b = pattern.structure("A", 320), pattern.structure("B", 8)
    pattern.access(a, page, page // 20, 6000, 2000)
    pattern.access(b, np.arange(8)[None, :], np.arange(16)[:, None], 300, 7)
    pattern.touch(a, page, page // 20)
    pattern.placed_by_first_touch = True
    pattern.node_of_page = np.where(page % 3 == 1, (page // 80 + 1) % 4, page // 80)
    pattern.node_of_page[page % 40 == 0] = -1
    pattern.nodes_of_threads = threads_on
    return pattern


def _handed_over() -> Pattern:
    """One thread initialises what another uses, and all use a part of one thread's stack."""
    pattern = Pattern("handed", 4)
    page = np.arange(500)
    inbox, own = pattern.structure("inbox", 500), pattern.structure("own", 100)
    stack = pattern.structure("Stack#0", 16, kind="stack")
    pattern.access(inbox, page, 1, 3000, 100)
    pattern.access(own, page[:100], 0, 9000, 0)
    pattern.access(stack, page[:16][None, :], np.arange(4)[:, None], 2000, 300)
    pattern.touch(inbox, page, 0)
    pattern.touch(own, page[:100], 0)
    pattern.touch(stack, page[:16], 0)
    return pattern


def _changing() -> Pattern:
    """In the second phase, most pages have another user."""
    pattern = Pattern("changing", 4)
    page = np.arange(600)
    owner = page // 150
    s = pattern.structure("A", 600)
    pattern.phase("outside")
    for line, (name, weight) in enumerate((("a", 52), ("b", 48)), 3):
        phase = pattern.phase(name, line=line)
        user = np.where((name == "b") & (page % 10 < 7), (owner + 1) % 4, owner)
        pattern.access(s, page, user, 1000 * weight, 10 * weight, phase=phase)
    pattern.touch(s, page, owner, phase=1)
    return pattern


def _meeting() -> Pattern:
    """Parts of threads that meet within pages, and in huge pages that all four have."""
    pattern = Pattern("meeting", 4)
    small, large = pattern.structure("small", 3), pattern.structure("large", 1024)
    for side in (0, 1):
        pattern.access(small, np.arange(3), np.arange(3) + side, 90_000, 9_000)
    pattern.touch(small, np.arange(3), np.arange(3))
    page = np.arange(1024)
    pattern.access(large, page, page % 4, 40_000, 1_000)
    pattern.touch(large, page, page % 4)
    return pattern


RUNS: dict[str, Callable[[], Pattern]] = {
    "matmul": lambda: _placed(naive_matmul(256, 8)),
    "blocks": lambda: _placed(block_matmul(256, 8)),
    "sort": lambda: bucket_sort(256, 8),
    "seismic": lambda: _placed(seismic(320, 8)),
    "parallel": lambda: _placed(seismic(320, 8, parallel=True)),
    "phases": lambda: many_phases(8, 6, 64),
    "lines": _counted_lines,
    "uneven": lambda: _placed(_uneven()),
    "touches": lambda: touches_alone(_uneven()),
    "displaced": lambda: _elsewhere([[thread // 4] for thread in range(16)]),
    "wandered": lambda: _elsewhere([[thread // 4, (thread // 2) % 4] for thread in range(16)]),
    "handed over": _handed_over,
    "changing": _changing,
    "meeting": _meeting,
    "sparse": sparse,
}
