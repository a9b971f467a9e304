# SPDX-License-Identifier: Apache-2.0
"""Small runs for judged.py; together, they have most of the findings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from synthetic.pattern import Pattern
from synthetic.patterns import block_matmul, bucket_sort, many_phases, naive_matmul, seismic, sparse
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
    """Phases in which one thread does most of the work, or other threads than before."""
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

    The first toucher of B is not known.
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
    """One thread initialises memory for another, and all use a part of one thread's stack."""
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
    """The parts of threads meet within pages; all four threads have parts in each huge page."""
    pattern = Pattern("meeting", 4)
    small, large = pattern.structure("small", 3), pattern.structure("large", 1024)
    for side in (0, 1):
        pattern.access(small, np.arange(3), np.arange(3) + side, 90_000, 9_000)
    pattern.touch(small, np.arange(3), np.arange(3))
    page = np.arange(1024)
    pattern.access(large, page, page % 4, 40_000, 1_000)
    pattern.touch(large, page, page % 4)
    return pattern


def _travelling() -> Pattern:
    """Threads of two nodes take lines from each other: elements, ends of parts, and a queue.

    All threads write the pages of `rows`, but few lines of these pages have several users.
    """
    pattern = Pattern("travelling", 32)
    page, thread = np.arange(40)[None, :], np.arange(32)[:, None]
    for name in ("counters", "ends", "queue", "rows"):
        s = pattern.structure(name, 40)
        pattern.access(s, page, thread, 3000, 700)
        pattern.touch(s, np.arange(40), np.arange(40) % 32)
    for number, (first, counts) in enumerate(((0, (9000, 800, 90)), (15, (7000, 900, 10)))):
        for step in range(3):
            pattern.take_lines(0, 5 * number + step, (first + step, first + step + 1), counts)
    # The parts of two threads meet in each of these lines.
    for page_, source in ((3, 4), (9, 5)):
        place = ("sweep", "travelling.c", 50, "sweep", "travelling.c", 52)
        halves = ((1 << 24) - 1, ((1 << 40) - 1) << 24)
        row = (1, 0, page_, 7, source, source + 16, 0, *place, *halves, 6000, 6000, 900, 200)
        pattern.transfers.append(row)
    pattern.take_lines(2, 0, (3, 20), (20_000, 5000, 4800))
    pattern.take_lines(2, 0, (20, 3), (15_000, 5000, 4900))
    pattern.take_lines(3, 2, (1, 2), (40, 40, 0))
    return pattern


def _touched_by_one() -> Pattern:
    """First touches alone: one thread touched all of `large` and its part of `small`."""
    pattern = Pattern("touched", 4)
    for name, pages in (("large", 300), ("small", 80)):
        s, page = pattern.structure(name, pages), np.arange(pages)
        pattern.access(s, page, 0, 1, 0)
        pattern.touch(s, page, np.where(page < 250, 2, 1) if name == "large" else page % 4)
    return touches_alone(pattern)


def _one_node() -> Pattern:
    """Threads on four nodes use pages that are mostly on one node."""
    pattern = Placed("one node", 64)
    page, thread = np.arange(200), np.arange(64)[:, None]
    s = pattern.structure("A", 200)
    pattern.access(s, page[None, :], thread, 6000 + 10 * thread, 400)
    pattern.touch(s, page, 17)
    pattern.node_of_page = np.where(page < 180, 1, 2)
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
    "travelling": _travelling,
    "touched by one": _touched_by_one,
    "one node": _one_node,
}
