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


def trace(times: dict[int, list[int]], users: list[int]) -> Any:
    """Return first touches by `fill` of each structure, at these times; it accesses `users`."""
    touches = [(s, 0, time, *FILL) for s, all_times in times.items() for time in all_times]
    columns = ["structure", "thread", "time_ns", "function", "file", "line"]
    lines = [(s, "fill", "/src/a.c", 14) for s in users] + [(NEW, "work", "/src/a.c", 30)]
    return SimpleNamespace(
        structures=pl.DataFrame({"name": ["new", "freed", "other"]}),
        first_touch=pl.DataFrame(touches, columns, orient="row"),
        source_lines=pl.DataFrame(lines, ["structure", "function", "file", "line"], orient="row"),
    )


@pytest.mark.parametrize(
    ("times", "users", "earlier"),
    [
        ({NEW: [5, 6, 7], FREED: [5, 6, 7, 8], OTHER: [7]}, [FREED, OTHER], "freed"),
        # Blocks that are allocated again and again have the same first touches each time.
        ({NEW: [5, 5, 5, 6], FREED: [5, 6]}, [FREED], "freed"),
        # The code uses both: it may have touched the pages for the new block.
        ({NEW: [5, 6, 7], FREED: [5, 6, 7]}, [FREED, NEW], None),
        # The freed structure had other memory, or less than half of this memory.
        ({NEW: [5, 6, 7], FREED: [1, 2, 3]}, [FREED], None),
        ({NEW: [5, 6, 7], FREED: [7, 8]}, [FREED], None),
        # Nothing is known of the code's accesses.
        ({NEW: [5, 6, 7], FREED: [5, 6, 7]}, [], None),
    ],
)
def test_a_freed_structure_is_found_by_its_first_touches(
    times: dict[int, list[int]], users: list[int], earlier: str | None
) -> None:
    assert earlier_owner(trace(times, users), NEW, FILL) == earlier
