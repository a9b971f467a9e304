# SPDX-License-Identifier: Apache-2.0
"""The parts of the trace format that are not columns of tables.

The columns are in trace/schema.py, because their types need Polars, which is slow to load.
"""

from __future__ import annotations

from typing import Final

FORMAT: Final = "numascape-trace"
VERSION: Final = 1
PAGE_BYTES: Final = 4096
"""Bytes of a page in all tables, whatever pages the kernel uses."""
HUGE_PAGE_BYTES: Final = 2 << 20
"""Bytes of a transparent huge page on most processors with pages of 4 KiB."""
LINE_BYTES: Final = 64
"""Bytes of a cache line in all tables, whatever lines the processor has."""
PAGE_LINES: Final = PAGE_BYTES // LINE_BYTES
BURST_GROUPS: Final = 8
"""The groups of bursts of the table `burst_groups`, if only bursts were counted."""
REQUIRED: Final = ("structures", "accesses", "first_touch", "threads", "placement", "phases")
"""The tables that every trace has."""
FORMER_NAMES: Final = {"source_lines": "lines", "data_sources": "sources"}
"""The names of tables in traces that were written before November 2026, by their present names."""
