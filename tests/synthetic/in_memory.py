# SPDX-License-Identifier: Apache-2.0
"""The trace of a synthetic pattern without files, for tests of code that only analyses a trace.

Writing and reading the files takes as long as the analysis of a small trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from numascape.trace import Trace
from numascape.trace.check import check_schema, check_values
from numascape.trace.schema import OPTIONAL, SCHEMAS
from synthetic.pattern import Pattern
from synthetic.write import info_of


@dataclass(frozen=True)
class TraceInMemory(Trace):
    """A trace with these tables, which are checked like those of files."""

    tables: Mapping[str, pl.DataFrame] = field(kw_only=True, hash=False, repr=False)

    def _read(self, table: str) -> pl.DataFrame:
        if table in OPTIONAL and table not in self.tables:
            return pl.DataFrame(schema=SCHEMAS[table])
        frame = self.tables[table]
        first = list(SCHEMAS[table])
        others = [name for name in frame.columns if name not in first]
        check_schema(table, frame.schema, table)
        check_values(table, frame, table)
        return frame.select(first + others).rechunk()


def trace_of(pattern: Pattern, name: str = "run") -> Trace:
    """The trace that `write_pattern` would write as `name`.numascape."""
    path = Path(f"{name}.numascape")
    return TraceInMemory(path, info_of(pattern.info()), tables=pattern.tables())
