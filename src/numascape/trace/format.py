# SPDX-License-Identifier: Apache-2.0
"""What the format of the trace says besides the columns of its tables (trace/schema.py).

Apart from these, because their types need the data frames, which are slow to load.
"""

from __future__ import annotations

from typing import Final

FORMAT: Final = "numascape-trace"
VERSION: Final = 1
PAGE_BYTES: Final = 4096
"""Bytes of a page in all tables, whatever pages the kernel uses."""
REQUIRED: Final = ("structures", "accesses", "first_touch", "threads", "placement", "phases")
"""The tables that every trace has."""
