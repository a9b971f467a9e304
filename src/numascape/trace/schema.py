# SPDX-License-Identifier: Apache-2.0
"""The trace's tables, their columns and types: format version 1.

docs/trace-format.md has the meaning and unit of each column. A table may have more columns than
these; readers ignore unknown columns.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from numascape.trace.format import REQUIRED

_U32 = pl.UInt32()
_U64 = pl.UInt64()
_TEXT = pl.String()
_PAGE_OF_INSTANCE: Final[dict[str, pl.DataType]] = {
    "structure": _U32,
    "instance": _U32,
    "page": _U32,
}

SCHEMAS: Final[dict[str, pl.Schema]] = {
    "structures": pl.Schema(
        {
            "structure": _U32,
            "process": _U32,
            "name": _TEXT,
            "kind": _TEXT,
            "size": _U64,
            "pages": _U32,
            "instances": _U32,
            "module": _TEXT,
            "function": _TEXT,
            "file": _TEXT,
            "line": _U32,
            "call_stack": pl.List(_TEXT),
            "named": pl.Boolean(),
        }
    ),
    "accesses": pl.Schema(
        {**_PAGE_OF_INSTANCE, "thread": _U32, "phase": _U32, "reads": _U64, "writes": _U64}
    ),
    "first_touch": pl.Schema(
        {
            **_PAGE_OF_INSTANCE,
            "thread": _U32,
            "phase": _U32,
            "order": _U64,
            "time_ns": _U64,
            "function": _TEXT,
            "file": _TEXT,
            "line": _U32,
        }
    ),
    "threads": pl.Schema(
        {
            "thread": _U32,
            "process": _U32,
            "os_tid": _U32,
            "name": _TEXT,
            "created_ns": _U64,
            "ended_ns": _U64,
            "cpus": pl.List(_U32),
            "nodes": pl.List(_U32),
        }
    ),
    "placement": pl.Schema({**_PAGE_OF_INSTANCE, "node": pl.Int32()}),
    "phases": pl.Schema(
        {
            "phase": _U32,
            "name": _TEXT,
            "file": _TEXT,
            "line": _U32,
            "start_ns": _U64,
            "end_ns": _U64,
            "repetitions": _U32,
        }
    ),
    "phase_spans": pl.Schema({"phase": _U32, "start_ns": _U64, "end_ns": _U64}),
    "source_lines": pl.Schema(
        {
            "structure": _U32,
            "phase": _U32,
            "function": _TEXT,
            "file": _TEXT,
            "line": _U32,
            "reads": _U64,
            "writes": _U64,
        }
    ),
    "data_sources": pl.Schema(
        {
            "structure": _U32,
            "thread": _U32,
            "source": _TEXT,
            "reads": _U64,
            "writes": _U64,
            "timed": _U64,
            "latency": _U64,
        }
    ),
    "transfers": pl.Schema(
        {
            **_PAGE_OF_INSTANCE,
            "cache_line": pl.Int32(),
            "from_thread": _U32,
            "thread": _U32,
            "phase": _U32,
            "from_function": _TEXT,
            "from_file": _TEXT,
            "from_line": _U32,
            "function": _TEXT,
            "file": _TEXT,
            "line": _U32,
            "from_bytes": _U64,
            "bytes": _U64,
            "transfers": _U64,
            "travelling": _U64,
            "judged": _U64,
            "true_sharing": _U64,
        }
    ),
    "kernel_accesses": pl.Schema(
        {
            **_PAGE_OF_INSTANCE,
            "thread": _U32,
            "phase": _U32,
            "read_bytes": _U64,
            "written_bytes": _U64,
        }
    ),
    "instructions": pl.Schema({"thread": _U32, "phase": _U32, "instructions": _U64}),
    "burst_groups": pl.Schema(
        {
            "structure": _U32,
            "thread": _U32,
            "phase": _U32,
            "group": _U32,
            "reads": _U64,
            "writes": _U64,
            "bursts": _U64,
        }
    ),
    "page_bursts": pl.Schema(
        {**_PAGE_OF_INSTANCE, "thread": _U32, "phase": _U32, "group": _U32, "accesses": _U64}
    ),
    "seen_lines": pl.Schema(
        {
            **_PAGE_OF_INSTANCE,
            "cache_line": pl.Int32(),
            "thread": _U32,
            "phase": _U32,
            "lines": _U64,
            "bytes": _U64,
            "times": _U64,
            "alone": _U64,
            "writing": _U64,
        }
    ),
    "call_paths": pl.Schema(
        {
            "path": _U32,
            "caller": pl.Int32(),
            "function": _TEXT,
            "file": _TEXT,
            "line": _U32,
            "module": _TEXT,
        }
    ),
    "path_accesses": pl.Schema(
        {
            **_PAGE_OF_INSTANCE,
            "thread": _U32,
            "phase": _U32,
            "path": _U32,
            "reads": _U64,
            "writes": _U64,
        }
    ),
    "instances": pl.Schema({"structure": _U32, "instance": _U32, "address": _U64, "size": _U64}),
    "huge_page_advice": pl.Schema({"structure": _U32, "instance": _U32, "huge": pl.Boolean()}),
}

OPTIONAL: Final = frozenset(SCHEMAS) - frozenset(REQUIRED)
"""Tables that a trace may not have, because nothing was recorded for them; read as empty."""

OPTIONAL_COLUMNS: Final[dict[str, dict[str, pl.DataType]]] = {
    "accesses": {"memory_lines": _U64, "written_lines": _U64},
    "first_touch": {"path": _U32},
    "source_lines": {"estimated": _U64},
    "structures": {"shared": pl.Boolean()},
    "instances": {"object": _TEXT, "object_page": _U64},
}
"""Columns that a table either has all or none of, because they may not be recorded."""

# Columns that old traces do not have, and their default values.
ADDED: Final[dict[str, dict[str, int]]] = {
    "first_touch": {"phase": 0},
    "burst_groups": {"phase": 0},
}

# The tables whose first column is 0, 1, 2, ...: an id is a row number.
NUMBERED: Final = {
    "structures": "structure",
    "threads": "thread",
    "phases": "phase",
    "call_paths": "path",
}

KINDS: Final = ("global", "heap", "region", "local", "stack", "mapping", "small", "unowned")
