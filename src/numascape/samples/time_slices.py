# SPDX-License-Identifier: Apache-2.0
"""Time slices as the phases of a recording of samples."""

from __future__ import annotations

from typing import Final

import polars as pl

from numascape.conversion.phases import (
    NamedPhase,
    ProcessPhases,
    RunPhases,
    run_phases,
    time_slice_name,
)
from numascape.trace.schema import SCHEMAS

MAX_SLICES: Final = 10_000
"""The maximum number of time slices. All later samples belong to one further phase."""


def sliced_phases(end_ns: int, slice_ns: int | None) -> RunPhases:
    """The phases of a recording of `end_ns`: one, or slices of `slice_ns`."""
    spans = pl.DataFrame(schema=SCHEMAS["phase_spans"])
    if slice_ns is None:
        return run_phases([ProcessPhases([], spans)], end_ns)
    count = end_ns // slice_ns + 1
    slices = [_slice(number, slice_ns) for number in range(min(count, MAX_SLICES))]
    if count > MAX_SLICES:
        start = MAX_SLICES * slice_ns
        slices.append(NamedPhase(MAX_SLICES, "further phases", "", 0, start, end_ns, 1))
    rows = [(one.phase, one.start_ns, min(one.end_ns, end_ns)) for one in slices]
    held = [row for row in rows if row[2] > row[1]]
    spans = pl.DataFrame(held, schema=SCHEMAS["phase_spans"], orient="row")
    return run_phases([ProcessPhases(slices, spans)], end_ns)


def slice_of(time_ns: pl.Expr, slice_ns: int | None) -> pl.Expr:
    """The number of the slice of a time, as `sliced_phases` numbers them for the process."""
    if slice_ns is None:
        return pl.lit(0, dtype=pl.UInt32())
    return (time_ns // slice_ns).clip(upper_bound=MAX_SLICES).cast(pl.UInt32())


def _slice(number: int, slice_ns: int) -> NamedPhase:
    start, end = number * slice_ns, (number + 1) * slice_ns
    return NamedPhase(number, time_slice_name(start, end), "", 0, start, end, 1)
