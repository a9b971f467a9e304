# SPDX-License-Identifier: Apache-2.0
"""Memory of a freed block was touched by code that does not use the new block."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.findings.earlier_blocks import earlier_owner

FILL = ("fill", "/src/a.c", 12)
NEW, FREED, OTHER = 0, 1, 2


def trace(times: dict[int, list[int]], users: list[int], in_phase: list[int]) -> Any:
    """Return first touches by `fill` of each structure, at these times, in phase 1.

    `fill` accesses `users`; `in_phase` are accessed in phase 1, and all structures in phase 2.
    """
    touches = [(s, 0, 1, time, *FILL) for s, all_times in times.items() for time in all_times]
    columns = ["structure", "thread", "phase", "time_ns", "function", "file", "line"]
    used = [(s, 1) for s in in_phase] + [(s, 2) for s in (NEW, FREED, OTHER)]
    lines = [(s, "fill", "/src/a.c", 14) for s in users] + [(NEW, "work", "/src/a.c", 30)]
    return SimpleNamespace(
        structures=pl.DataFrame({"name": ["new", "freed", "other"]}),
        accesses=pl.DataFrame(used, ["structure", "phase"], orient="row"),
        _results={},
        first_touch=pl.DataFrame(touches, columns, orient="row"),
        source_lines=pl.DataFrame(lines, ["structure", "function", "file", "line"], orient="row"),
    )


@pytest.mark.parametrize(
    ("times", "users", "in_phase", "earlier"),
    [
        ({NEW: [5, 6, 7], FREED: [5, 6, 7, 8], OTHER: [7]}, [FREED, OTHER], [NEW], "freed"),
        # Blocks that are allocated again and again have the same first touches each time.
        ({NEW: [5, 5, 5, 6], FREED: [5, 6]}, [FREED], [NEW], "freed"),
        # The code uses both: it may have touched the pages for the new block.
        ({NEW: [5, 6, 7], FREED: [5, 6, 7]}, [FREED, NEW], [NEW, FREED], None),
        # The freed structure had other memory, or less than half of this memory.
        ({NEW: [5, 6, 7], FREED: [1, 2, 3]}, [FREED], [FREED], None),
        ({NEW: [5, 6, 7], FREED: [7, 8]}, [FREED], [FREED], None),
        # Nothing is known of the code's accesses. In the phase, only the freed structure was used.
        ({NEW: [5, 6, 7], FREED: [5, 6, 7]}, [], [NEW, FREED], None),
        ({NEW: [5, 6, 7], FREED: [5, 6, 7]}, [], [FREED], "freed"),
        ({}, [FREED], [FREED], None),
    ],
)
def test_a_freed_structure_is_found_by_its_first_touches(
    times: dict[int, list[int]], users: list[int], in_phase: list[int], earlier: str | None
) -> None:
    assert earlier_owner(trace(times, users, in_phase), NEW, FILL) == earlier
