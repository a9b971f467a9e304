# SPDX-License-Identifier: Apache-2.0
"""Accesses by source line, for KCachegrind, QCachegrind and callgrind_annotate.

The format is described in Valgrind's manual, "Callgrind Format Specification".
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from numascape.installation import installed_version
from numascape.terminal import printable
from numascape.trace import Trace

_UNKNOWN = "???"  # as Valgrind's tools call it


def callgrind_profile(trace: Trace) -> str:
    """The reads and writes of each source line, summed over structures and phases.

    Lines without a known function or file are those of the function, or file, "???".
    """
    return "\n".join(_lines(trace)) + "\n"


def _lines(trace: Trace) -> Iterator[str]:
    counts = trace.source_lines.group_by("file", "function", "line").agg(pl.sum("reads", "writes"))
    totals = counts.select(pl.sum("reads", "writes")).row(0)
    yield "# callgrind format"
    yield "version: 1"
    yield f"creator: numascape {installed_version()}"
    yield f"cmd: {printable(' '.join([trace.info.program, *trace.info.arguments]))}"
    yield "positions: line"
    yield "event: Reads : Accesses that read memory"
    yield "event: Writes : Accesses that write memory"
    yield "events: Reads Writes"
    yield f"summary: {totals[0]} {totals[1]}"
    place: tuple[str, str] | None = None
    for file, function, line, reads, writes in counts.sort("file", "function", "line").iter_rows():
        if place != (file, function):
            place = (file, function)
            yield ""
            yield f"fl={printable(file) or _UNKNOWN}"
            yield f"fn={printable(function) or _UNKNOWN}"
        yield f"{line} {reads} {writes}"
