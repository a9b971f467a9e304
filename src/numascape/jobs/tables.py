# SPDX-License-Identifier: Apache-2.0
"""Small tables of what is known of some ranks of a job. Tables of several ranks can be merged.

`merge` is associative and commutative, and equal rows count once. Each table is sorted by its keys,
so that equal contents are equal tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final

import polars as pl

from numascape.findings.finding import Kind

_TEXT = pl.String()
_COUNT = pl.UInt64()
_SHARE = pl.Float64()
_NUMBERS = pl.List(pl.UInt32)

SCHEMAS: Final[dict[str, pl.Schema]] = {
    "ranks": pl.Schema(
        {
            "rank": pl.UInt32(),
            "host": _TEXT,
            "cpus": _NUMBERS,
            "nodes": _NUMBERS,
            "pid": _COUNT,
            "processes": pl.UInt32(),
            "program": _TEXT,
            "exit_status": pl.Int32(),
            "started": _TEXT,
            "wall_s": _SHARE,
            "cpu_s": _SHARE,
            "recorder": _TEXT,
            "version": _TEXT,
            "counts": _TEXT,
            "threads": pl.UInt32(),
            "pages": _COUNT,
            "reads": _COUNT,
            "writes": _COUNT,
            "error": _SHARE,
        }
    ),
    "sums": pl.Schema(
        {
            "rank": pl.UInt32(),
            "structure": pl.UInt32(),
            "name": _TEXT,
            "kind": _TEXT,
            "owner": _TEXT,
            "function": _TEXT,
            "file": _TEXT,
            "line": pl.UInt32(),
            "size": _COUNT,
            "reads": _COUNT,
            "writes": _COUNT,
            "known": _COUNT,
            "remote": _COUNT,
            "share": _SHARE,
            "threads": pl.UInt32(),
            "touched_pages": _COUNT,
            "busiest_share": _SHARE,
            "first_toucher_share": _SHARE,
            "foreign_share": _SHARE,
            "pattern": _TEXT,
            "shared": _TEXT,
        }
    ),
    "findings": pl.Schema(
        {
            "rank": pl.UInt32(),
            "kind": _TEXT,
            "structure": pl.Int64(),
            "name": _TEXT,
            "shared": _TEXT,
            "function": _TEXT,
            "file": _TEXT,
            "line": pl.UInt32(),
            "share": _SHARE,
            "confidence": _SHARE,
            "to_do": pl.Boolean(),
            "why": _TEXT,
            "advice": pl.List(_TEXT),
        }
    ),
    "shared": pl.Schema(
        {
            "host": _TEXT,
            "memory": _TEXT,
            "object": _TEXT,
            "first_page": _COUNT,
            "pages": _COUNT,
            "rank": pl.UInt32(),
            "reads": _COUNT,
            "writes": _COUNT,
            "touched_ns": _COUNT,
            "function": _TEXT,
            "file": _TEXT,
            "line": pl.UInt32(),
        }
    ),
    "left_out": pl.Schema({"rank": pl.Int64(), "part": _TEXT, "reason": _TEXT}),
}
"""The tables and their columns. docs/trace-format.md has their meaning."""

_KEYS: Final = {
    "ranks": ["rank"],
    "sums": ["rank", "structure"],
    "findings": ["rank", "kind", "structure", "name", "function", "file", "line", "why"],
    "shared": ["host", "memory", "object", "first_page", "rank"],
    "left_out": ["rank", "part", "reason"],
}


@dataclass(frozen=True, eq=False)
class JobTables:
    """The tables of some ranks; SCHEMAS has their columns."""

    ranks: pl.DataFrame
    sums: pl.DataFrame
    findings: pl.DataFrame
    shared: pl.DataFrame
    left_out: pl.DataFrame

    @classmethod
    def of(cls, **rows: Iterable[Any] | pl.DataFrame) -> JobTables:
        """The tables with these rows, by the name of the table; others are empty."""
        frames = {}
        for name, schema in SCHEMAS.items():
            given = rows.get(name, ())
            frame = (
                given.select(pl.col(name).cast(kind) for name, kind in schema.items())
                if isinstance(given, pl.DataFrame)
                else pl.DataFrame(list(given), schema=schema, orient="row")
            )
            frames[name] = frame.sort(_KEYS[name])
        return cls(**frames)

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def equals(self, other: JobTables) -> bool:
        """Whether all tables have the same rows."""
        theirs = other.tables()
        return all(frame.equals(theirs[name]) for name, frame in self.tables().items())


def problem_of(name: str, frame: pl.DataFrame) -> str:
    """The error in a table that was read from a file; empty if there is none."""
    if frame.schema != SCHEMAS[name] or sum(frame.null_count().row(0)):
        return "its columns are not those of the format"
    if name == "findings" and not frame["kind"].is_in([kind.value for kind in Kind]).all():
        return "it has an unknown kind of findings"
    return ""


def merge(several: Iterable[JobTables]) -> JobTables:
    """The tables of all ranks of `several`; equal rows count once."""
    collected: dict[str, list[pl.DataFrame]] = {name: [] for name in SCHEMAS}
    for one in several:
        for name, frame in one.tables().items():
            collected[name].append(frame)
    return JobTables(**{name: _united(name, frames) for name, frames in collected.items()})


def _united(name: str, frames: list[pl.DataFrame]) -> pl.DataFrame:
    filled = [frame for frame in frames if frame.height]
    if not filled:
        return pl.DataFrame(schema=SCHEMAS[name])
    rows = pl.concat(filled).unique(_KEYS[name], keep="any", maintain_order=False)
    return rows.sort(_KEYS[name])
