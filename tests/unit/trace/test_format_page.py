# SPDX-License-Identifier: Apache-2.0
"""docs/trace-format.md describes the actual tables, and its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

from numascape.trace import TraceInfo
from numascape.trace.format import VERSION
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS

PAGE = (Path(__file__).parents[3] / "docs" / "trace-format.md").read_text()
TYPES = {
    pl.UInt32(): "uint32",
    pl.Int32(): "int32",
    pl.UInt64(): "uint64",
    pl.String(): "string",
    pl.Boolean(): "bool",
    pl.List(pl.String): "list of string",
    pl.List(pl.UInt32): "list of uint32",
}


def rows_of(section: str) -> list[list[str]]:
    """The cells of the table in the section of that heading."""
    text = PAGE.split(f"\n## {section}")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_the_page_is_about_this_version() -> None:
    assert PAGE.startswith(f"# The trace: format version {VERSION}\n")


@pytest.mark.parametrize("table", SCHEMAS)
def test_columns_and_types_are_the_schemas(table: str) -> None:
    documented: list[tuple[str, str]] = []
    for names, types, _ in rows_of(table):
        columns = names.split(", ")
        listed = types.split(", ")
        documented += zip(
            columns, listed if len(listed) > 1 else listed * len(columns), strict=True
        )
    columns_of = {**SCHEMAS[table], **OPTIONAL_COLUMNS.get(table, {})}
    assert documented == [(name, TYPES[dtype]) for name, dtype in columns_of.items()]


def test_the_fields_of_trace_json_are_documented() -> None:
    documented = [name for names, _ in rows_of("trace.json") for name in names.split(", ")]
    assert sorted(documented) == sorted(TraceInfo.__dataclass_fields__)


@pytest.mark.program
@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
def test_examples_in_python_print_the_sums(code: str, trace_folder: Path) -> None:
    trace_folder.rename(trace_folder.with_name("run.numascape"))
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=trace_folder.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(r"A\W+912\D+1024", result.stdout)


def test_the_example_in_sql_gives_the_sums(
    trace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_folder.rename(trace_folder.with_name("run.numascape"))
    monkeypatch.chdir(trace_folder.parent)
    *_, query = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    found = duckdb.sql(query)
    assert found is not None
    assert set(found.fetchall()) == {("A", 912, 1024), ("B", 30, 34)}
