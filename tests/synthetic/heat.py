# SPDX-License-Identifier: Apache-2.0
"""A run with phases, source lines and pages on four nodes, with simple counts."""

from __future__ import annotations

import numpy as np

from synthetic.pattern import Pattern

THREADS = 64
PAGES = 640
FILL = 512
"""Writes per page of A by thread 0, in the phase `fill`."""
READ, WRITE = 100, 300
"""Per page of its own part, by each thread, in the phase `sweep`: of A, and of B."""


def heat(file: str = "heat.c") -> Pattern:
    """Thread 0 fills A, then three times each thread reads its part of A and writes that of B.

    16 threads run on each of the nodes 0 to 3. A is on node 0; B is on the nodes of its writers.
    """
    pattern = Pattern("heat", THREADS)
    pattern.placed_by_first_touch = True
    thread, page = np.arange(THREADS)[:, None], np.arange(PAGES)[None, :]
    owner = page * THREADS // PAGES
    pattern.phase("outside")
    fill = pattern.phase("fill", line=3)
    sweep = pattern.phase("sweep", line=8, repetitions=3)
    a = pattern.structure("A", PAGES)
    pattern.access(a, page, np.array(0), 0, FILL, phase=fill)
    pattern.access(a, page, thread, (owner == thread) * READ, 0, phase=sweep)
    pattern.touch(a, page, 0, "fill", 4, phase=fill)
    b = pattern.structure("B", PAGES)
    pattern.access(b, page, thread, 0, (owner == thread) * WRITE, phase=sweep)
    pattern.touch(b, page, owner, "sweep", 10, phase=sweep)
    for structure, phase, function, line, reads, writes in (
        (a, fill, "fill", 4, 0, FILL * PAGES),
        (a, sweep, "sweep", 9, READ * PAGES, 0),
        (b, sweep, "sweep", 10, 0, WRITE * PAGES),
    ):
        pattern.lines.append((structure, phase, function, file, line, reads, writes))
    return pattern
