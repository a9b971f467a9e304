# SPDX-License-Identifier: Apache-2.0
"""Writes a synthetic pattern as a trace."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from numascape.trace import Trace, TraceInfo, write_trace
from synthetic.patterns import Pattern


def write_pattern(pattern: Pattern, path: Path) -> Trace:
    info = TypeAdapter(TraceInfo).validate_python(pattern.info())
    write_trace(path, pattern.tables(), info)
    return Trace.read(path)
