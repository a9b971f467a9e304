# SPDX-License-Identifier: Apache-2.0
"""The trace: which thread accessed which page of which structure, how often, and when.

A trace is a folder `NAME.numascape/` of Parquet tables and `trace.json`; docs/trace-format.md
describes both for readers in any language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numascape.trace.info import TraceInfo
    from numascape.trace.trace import Trace
    from numascape.trace.write import write_trace

__all__ = ["Trace", "TraceInfo", "write_trace"]


def __getattr__(name: str) -> object:
    # Loaded when they are first used: a program that is recorded starts before the data frames are
    # loaded.
    if name == "Trace":
        from numascape.trace.trace import Trace

        return Trace
    if name == "TraceInfo":
        from numascape.trace.info import TraceInfo

        return TraceInfo
    if name == "write_trace":
        from numascape.trace.write import write_trace

        return write_trace
    raise AttributeError(f"module 'numascape.trace' has no attribute {name!r}")
