# SPDX-License-Identifier: Apache-2.0
"""Which structure had the memory of another one when its pages were touched first.

An allocator gives the memory of freed blocks to new ones. The pages of a new block then stay on the
nodes of the threads that touched them for an earlier block.
"""

from __future__ import annotations

import polars as pl

from numascape.trace.once import once_per_trace
from numascape.trace.trace import Trace

_TOUCH = ["thread", "time_ns"]


def earlier_owner(trace: Trace, structure: int, place: tuple[str, str, int]) -> str | None:
    """The name of the structure for which the code at `place` touched most of these pages first.

    None if another structure with the same first touches is not known, or if `structure` itself was
    used by this code and in the phases of these touches.
    """
    function, file, line = place
    here = (pl.col("function") == function) & (pl.col("file") == file)
    touches = trace.first_touch.filter(here, pl.col("line") == line)
    own = touches.filter(pl.col("structure") == structure)
    by_code = trace.source_lines.filter(here)["structure"].unique()
    in_phases = pl.col("phase").is_in(own["phase"].unique().implode())
    by_phase = _used_in_phases(trace).filter(in_phases)["structure"].unique()
    events = own.select(_TOUCH).unique()
    for used in (by_code, by_phase):
        if structure in used:
            continue
        others = touches.filter(pl.col("structure").is_in(used.implode()))
        shared = others.select(*_TOUCH, "structure").unique().join(events, on=_TOUCH, how="semi")
        if 0 < events.height <= 2 * shared.select(_TOUCH).n_unique():
            first = shared.group_by("structure").len()
            first = first.sort("len", "structure", descending=[True, False])
            return str(trace.structures.item(first["structure"][0], "name"))
    return None


@once_per_trace
def _used_in_phases(trace: Trace) -> pl.DataFrame:
    """The structures that were accessed in each phase: structure, phase."""
    return trace.accesses.select("structure", "phase").unique()
