# SPDX-License-Identifier: Apache-2.0
"""Which structure had the memory of another one when its pages were touched first.

An allocator gives the memory of freed blocks to new ones. The pages of a new block then stay on the
nodes of the threads that touched them for an earlier block.
"""

from __future__ import annotations

import polars as pl

from numascape.trace.trace import Trace

_TOUCH = ["thread", "time_ns"]


def earlier_owner(trace: Trace, structure: int, place: tuple[str, str, int]) -> str | None:
    """The name of the structure for which the code at `place` touched most of these pages first.

    None if the code uses `structure` itself, or if no other structure that the code uses has the
    same first touches.
    """
    function, file, line = place
    here = (pl.col("function") == function) & (pl.col("file") == file)
    used = trace.source_lines.filter(here)["structure"].unique()
    if used.is_empty() or structure in used:
        return None
    touches = trace.first_touch.filter(here, pl.col("line") == line)
    own = touches.filter(pl.col("structure") == structure).select(_TOUCH).unique()
    others = touches.filter(pl.col("structure").is_in(used.implode()))
    shared = others.select(*_TOUCH, "structure").unique().join(own, on=_TOUCH, how="semi")
    if shared.select(_TOUCH).n_unique() * 2 < max(1, own.height):
        return None
    first = shared.group_by("structure").len().sort("len", "structure", descending=[True, False])
    return str(trace.structures.item(first["structure"][0], "name"))
