# SPDX-License-Identifier: Apache-2.0
"""The sums, sharing and traffic of a report in cache lines from memory."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.facts import per_thread_pages
from numascape.analysis.page_columns import Column
from numascape.report.data import MemoryLines, Traffic
from numascape.report.sharing import measure_sharing
from numascape.report.traffic import measure_traffic
from numascape.trace import Trace
from numascape.trace.counting import MEMORY_LINES, as_memory_lines, has_memory_lines


def lines_of_structures(accesses: pl.DataFrame) -> dict[int, int]:
    """By structure, the lines from memory and back to it; empty if none were counted."""
    if not has_memory_lines(accesses):
        return {}
    sums = accesses.group_by("structure").agg(pl.sum_horizontal(pl.col(MEMORY_LINES).sum()))
    return dict(sums.iter_rows())


def measure_memory_lines(
    by_phase: pl.DataFrame, threads: int, phases: int, traffic: Traffic | None
) -> MemoryLines | None:
    """The sums, sharing and traffic in lines; `traffic` is that of `line_traffic`."""
    if traffic is None:
        return None
    lines = as_memory_lines(by_phase)
    per_thread = per_thread_pages(lines, phases)
    several = lines if phases > 1 else None
    sharing = measure_sharing(per_thread, several, threads, phases)
    return MemoryLines(
        fetched=_by_phase(lines, "reads", phases),
        written=_by_phase(lines, "writes", phases),
        shared=sharing.accesses,
        traffic=traffic.accesses,
        local=traffic.local,
        remote=traffic.remote,
        thread_local=traffic.thread_local,
        thread_remote=traffic.thread_remote,
    )


def line_traffic(
    trace: Trace, by_phase: pl.DataFrame, position: pl.Series, structures: int, phases: int
) -> Traffic | None:
    """The traffic between nodes in lines; the parameters are those of measure_traffic."""
    if not has_memory_lines(by_phase):
        return None
    return measure_traffic(trace, as_memory_lines(by_phase), position, structures, phases)


def _by_phase(lines: pl.DataFrame, column: str, phases: int) -> Column:
    summed = np.zeros(phases, np.uint64)
    sums = lines.group_by("phase").agg(pl.col(column).sum())
    summed[sums["phase"].to_numpy()] = sums[column].to_numpy()
    return summed
