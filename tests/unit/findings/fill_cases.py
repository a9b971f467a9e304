# SPDX-License-Identifier: Apache-2.0
"""Runs in which several threads fill a structure before others use it."""

from __future__ import annotations

from typing import Any

import numpy as np

from numascape.findings import Kind
from synthetic.pattern import Pattern
from unit.findings.run_cases import kinds, region, run_of

PAGES = 80
FILL = 512
"""Writes of 8 bytes that fill a page."""


def looked_up_after_fill(
    *,
    reads: float = 4 * FILL,
    filled_reads: int = 0,
    repeated: int = 1,
    touched: float = 1.0,
    later_writes: int = 0,
) -> Pattern:
    """Four threads fill their parts in one region, and read the whole structure in another one."""
    pattern = Pattern("table", 4)
    table = pattern.structure("table", PAGES)
    pattern.phase("outside")
    fill = pattern.phase("parallel region fill", 3, repeated)
    work = region(pattern, "look_up", 7)
    for thread, part in enumerate(np.array_split(np.arange(PAGES), 4)):
        pattern.access(table, part, thread, filled_reads, FILL, phase=fill)
        pattern.access(
            table, np.arange(PAGES), thread, round(reads / 4), later_writes // 4, phase=work
        )
    by_fill = round(touched * PAGES)
    owner = np.arange(PAGES) // (PAGES // 4)
    pattern.touch(table, np.arange(by_fill), owner[:by_fill], phase=fill)
    pattern.touch(table, np.arange(by_fill, PAGES), 0, phase=work)
    return pattern


def kind(**known: Any) -> set[Kind]:
    return kinds(run_of(looked_up_after_fill(**known)))


def is_used_enough_after_fill(ratio: float) -> bool:
    return kind(reads=ratio * FILL) == {Kind.SHARED_READ_MOSTLY}
