# SPDX-License-Identifier: Apache-2.0
"""Reading a trace with any bytes in its files gives valid tables or one error."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import numascape
from numascape import NumascapeError
from numascape.trace import TraceInfo, write_trace
from numascape.trace.files import describe
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS

# The place of a change (as a fraction of the length), the new bytes, and the place of a cut.
CHANGES = st.lists(st.tuples(st.floats(0, 0.999999), st.binary(min_size=1, max_size=8)), max_size=4)
CUT = st.none() | st.floats(0, 1)
SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def damaged(content: bytes, changes: list[tuple[float, bytes]], cut: float | None) -> bytes:
    result = bytearray(content)
    for place, new in changes:
        start = int(place * len(content))
        result[start : start + len(new)] = new
    return bytes(result if cut is None else result[: int(cut * len(result))])


@pytest.fixture
def trace_folder(tmp_path: Path, tables: dict[str, pl.DataFrame], info: TraceInfo) -> Path:
    """The small trace on disk, with the optional columns."""
    lines = {name: pl.Series(range(5), dtype=pl.UInt64) for name in OPTIONAL_COLUMNS["accesses"]}
    folder = tmp_path / "sum.numascape"
    write_trace(folder, tables | {"accesses": tables["accesses"].with_columns(**lines)}, info)
    return folder


def read_everything(folder: Path) -> None:
    """Raises NumascapeError or finds every id within its table."""
    trace = numascape.open(folder)
    for table in SCHEMAS:
        frame = trace.table(table)
        assert frame.select(pl.col(list(SCHEMAS[table])).null_count().sum()).row(0)[0] == 0
    for name, columns in OPTIONAL_COLUMNS.items():
        kept = [column for column in columns if column in trace.table(name).columns]
        assert trace.table(name).select(pl.col(kept).is_null().any()).to_numpy().sum() == 0
    for column, bound in (("structure", trace.structures), ("thread", trace.threads)):
        assert all(value < bound.height for value in trace.accesses[column])


def expect_tables_or_one_line(folder: Path) -> None:
    try:
        read_everything(folder)
    except NumascapeError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right
        assert "\n" not in str(error)  # noqa: PT017


@SETTINGS
@given(changes=CHANGES, cut=CUT)
def test_damaged_trace_json(
    trace_folder: Path, changes: list[tuple[float, bytes]], cut: float | None
) -> None:
    copy = trace_folder.with_name("copy.numascape")
    shutil.copytree(trace_folder, copy, dirs_exist_ok=True)
    content = (trace_folder / "trace.json").read_bytes()
    (copy / "trace.json").write_bytes(damaged(content, changes, cut))
    expect_tables_or_one_line(copy)


@pytest.mark.parametrize("table", SCHEMAS)
@SETTINGS
@given(changes=CHANGES, cut=CUT)
def test_damaged_tables_with_a_checksum_to_match(
    trace_folder: Path, table: str, changes: list[tuple[float, bytes]], cut: float | None
) -> None:
    copy = trace_folder.with_name("copy.numascape")
    shutil.copytree(trace_folder, copy, dirs_exist_ok=True)
    path = copy / f"{table}.parquet"
    path.write_bytes(damaged((trace_folder / path.name).read_bytes(), changes, cut))
    info = json.loads((trace_folder / "trace.json").read_text())
    rows = info["tables"][table]["rows"]
    info["tables"][table] = dataclasses.asdict(describe(path, rows))
    (copy / "trace.json").write_text(json.dumps(info))
    expect_tables_or_one_line(copy)
