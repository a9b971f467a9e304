# SPDX-License-Identifier: Apache-2.0
"""The trace: which thread accessed which page of which structure, how often, and when.

A trace is a folder `NAME.numascape/` of Parquet tables and `trace.json`; docs/trace-format.md
describes both for readers in any language.
"""

from numascape.trace.info import TraceInfo
from numascape.trace.trace import Trace
from numascape.trace.write import write_trace

__all__ = ["Trace", "TraceInfo", "write_trace"]
