# SPDX-License-Identifier: Apache-2.0
"""Nothing that a recorder counted may be missing in the trace."""

from __future__ import annotations

import polars as pl

from numascape.trace import Trace


def check_totals(trace: Trace) -> None:
    """All counts of the recorder are in the trace, with any owner."""
    if trace.info.recorder.name not in {"binary", "compiled"}:
        return
    totals = trace.info.totals
    assert (totals.reads, totals.writes) == (totals.counted_reads, totals.counted_writes)
    rows = trace.accesses.select(pl.col("reads", "writes").sum()).row(0)
    assert rows == (totals.reads, totals.writes)
