# SPDX-License-Identifier: Apache-2.0
"""Writes a synthetic pattern as a trace."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from numascape.trace import Trace, TraceInfo, write_trace
from synthetic.pattern import Pattern


@cache
def _adapter() -> TypeAdapter[TraceInfo]:
    return TypeAdapter(TraceInfo)  # takes 8 ms


def info_of(fields: Mapping[str, Any]) -> TraceInfo:
    """The information with these fields of trace.json."""
    return _adapter().validate_python(fields)


def write_pattern(pattern: Pattern, path: Path) -> Trace:
    write_trace(path, pattern.tables(), info_of(pattern.info()))
    return Trace.read(path)


def touches_alone(pattern: Pattern) -> Pattern:
    """The pattern as a recording of page faults: without accesses and source lines."""
    info = pattern.info()
    info["recorder"] |= {"name": "faults", "counts": "first touches"}
    info["totals"] |= {"reads": 0, "writes": 0}
    pattern.accesses = [table.clear() for table in pattern.accesses]
    pattern.lines = []
    pattern.info = lambda: info  # type: ignore[method-assign]
    return pattern


def of_all_threads(pattern: Pattern) -> Pattern:
    """The pattern of one thread as DAMON sees it: samples without a known thread."""
    info = pattern.info()
    info["recorder"] |= {"name": "damon", "counts": "samples", "moments": 60, "by_thread": False}
    pattern.lines = []
    pattern.first_touch = [table.clear() for table in pattern.first_touch]
    pattern.info = lambda: info  # type: ignore[method-assign]
    return pattern
