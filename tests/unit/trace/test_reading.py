# SPDX-License-Identifier: Apache-2.0
"""A trace is read as it was written, and refused if its content does not fit its description."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import numascape
from numascape import NumascapeError
from numascape.trace import TraceInfo, write_trace
from numascape.trace.files import describe
from numascape.trace.schema import OPTIONAL, SCHEMAS

Tables = dict[str, pl.DataFrame]


def edit_info(folder: Path, **changes: Any) -> None:
    path = folder / "trace.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def replace_table(folder: Path, table: str, frame: pl.DataFrame) -> None:
    """Replace a table, with a matching trace.json, as an attacker would do."""
    path = folder / f"{table}.parquet"
    frame.write_parquet(path)
    files = json.loads((folder / "trace.json").read_text())["tables"]
    edit_info(folder, tables={**files, table: dataclasses.asdict(describe(path, frame.height))})


def test_every_table_comes_back_as_written(
    trace_folder: Path, tables: Tables, info: TraceInfo
) -> None:
    trace = numascape.open(trace_folder)
    for name in SCHEMAS:
        assert trace.table(name).equals(tables[name]), name
    assert dataclasses.replace(trace.info, tables={}) == info


@pytest.mark.parametrize("table", sorted(OPTIONAL))
def test_optional_tables_that_are_missing_read_as_empty(
    tmp_path: Path, tables: Tables, info: TraceInfo, table: str
) -> None:
    del tables[table]
    write_trace(tmp_path / "t.numascape", tables, info)
    frame = numascape.open(tmp_path / "t.numascape").table(table)
    assert (frame.height, frame.schema) == (0, SCHEMAS[table])


def test_tables_may_have_more_columns(tmp_path: Path, tables: Tables, info: TraceInfo) -> None:
    tables["threads"] = tables["threads"].with_columns(pl.lit("blue").alias("colour"))
    write_trace(tmp_path / "t.numascape", tables, info)
    threads = numascape.open(tmp_path / "t.numascape").threads
    assert threads.columns == [*SCHEMAS["threads"], "colour"]


def with_lines(accesses: pl.DataFrame) -> pl.DataFrame:
    lines = pl.int_range(pl.len(), dtype=pl.UInt64())
    return accesses.with_columns(memory_lines=lines, written_lines=lines // 2)


def test_lines_of_memory_are_optional_columns(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    tables["accesses"] = with_lines(tables["accesses"])
    write_trace(tmp_path / "t.numascape", tables, info)
    assert numascape.open(tmp_path / "t.numascape").accesses.equals(tables["accesses"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (pl.exclude("memory_lines"), "no column memory_lines"),
        (pl.exclude("written_lines"), "no column written_lines"),
    ],
)
def test_one_kind_of_lines_alone_is_damage(
    trace_folder: Path, tables: Tables, change: pl.Expr, reason: str
) -> None:
    replace_table(trace_folder, "accesses", with_lines(tables["accesses"]).select(change))
    with pytest.raises(NumascapeError, match=reason):
        numascape.open(trace_folder).accesses.height  # noqa: B018


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pl.lit(None, dtype=pl.UInt64()), "values of memory_lines are missing"),
        (pl.lit(1, dtype=pl.Int32()), "its column memory_lines is Int32, not UInt64"),
    ],
)
def test_wrong_lines_are_damage(
    trace_folder: Path, tables: Tables, column: pl.Expr, reason: str
) -> None:
    frame = with_lines(tables["accesses"]).with_columns(memory_lines=column)
    replace_table(trace_folder, "accesses", frame)
    with pytest.raises(NumascapeError, match=reason):
        numascape.open(trace_folder).accesses.height  # noqa: B018


def test_pandas_and_duckdb_read_a_trace_without_numascape(trace_folder: Path) -> None:
    accesses = pd.read_parquet(trace_folder / "accesses.parquet")
    assert accesses.groupby("structure")["reads"].sum().to_dict() == {0: 912, 1: 30}
    query = f"""
        select name, sum(reads), sum(writes)
        from '{trace_folder}/accesses.parquet' join '{trace_folder}/structures.parquet'
        using (structure) group by name order by name
    """
    found = duckdb.sql(query)
    assert found is not None
    assert found.fetchall() == [("A", 912, 1024), ("B", 30, 34)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "has format version 2, but this Numascape reads version 1"),
        ({"format": "other"}, "is not a trace: its format is 'other'"),
        ({"page_size": 0}, "page_size: Input should be greater than or equal to 512"),
        ({"totals": None}, "totals: Input should be"),
        ({"totals": {"reads": 1 << 70, "writes": 0, "pages": 0, "threads": 0}}, "totals.reads"),
        ({"attributed_share": 1.5}, "attributed_share: Input should be less than or equal to 1"),
        ({"program": 7}, "program: Input should be a valid string"),
        ({"tables": {}}, "does not list the table structures"),
    ],
)
def test_wrong_trace_json_is_refused(
    trace_folder: Path, changes: dict[str, Any], message: str
) -> None:
    edit_info(trace_folder, **changes)
    with pytest.raises(NumascapeError) as caught:
        numascape.open(trace_folder)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "\0\1", '{"format": "numascape-trace"}'])
def test_trace_json_that_is_none_is_refused(trace_folder: Path, text: str) -> None:
    (trace_folder / "trace.json").write_text(text)
    with pytest.raises(NumascapeError, match=r"trace\.json is damaged"):
        numascape.open(trace_folder)


def test_deeply_nested_trace_json_is_refused(trace_folder: Path) -> None:
    (trace_folder / "trace.json").write_text('{"recorder": ' + "[" * 1_000_000)
    with pytest.raises(NumascapeError, match=r"trace\.json is damaged"):
        numascape.open(trace_folder)


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NumascapeError, match="does not exist"):
        numascape.open(tmp_path / "absent.numascape")
    with pytest.raises(NumascapeError, match=r"it has no file trace\.json"):
        numascape.open(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NumascapeError, match="is not a trace"):
        numascape.open(tmp_path / "file")


@pytest.mark.parametrize("table", SCHEMAS)
def test_missing_table_is_refused(trace_folder: Path, table: str) -> None:
    (trace_folder / f"{table}.parquet").unlink()
    with pytest.raises(NumascapeError, match=rf"it has no file {table}\.parquet"):
        numascape.open(trace_folder).table(table)


def test_a_pipe_in_place_of_a_table_is_not_waited_for(trace_folder: Path) -> None:
    (trace_folder / "threads.parquet").unlink()
    os.mkfifo(trace_folder / "threads.parquet")
    with pytest.raises(NumascapeError, match=r"it has no file threads\.parquet"):
        _ = numascape.open(trace_folder).threads


@pytest.mark.parametrize("table", SCHEMAS)
def test_truncated_table_is_refused(trace_folder: Path, table: str) -> None:
    path = trace_folder / f"{table}.parquet"
    size = path.stat().st_size
    os.truncate(path, size - 1)
    with pytest.raises(NumascapeError, match=rf"has {size - 1} bytes, but trace\.json says {size}"):
        numascape.open(trace_folder).table(table)


def test_changed_byte_is_found(trace_folder: Path) -> None:
    path = trace_folder / "accesses.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(NumascapeError, match="its checksum is not the one in"):
        _ = numascape.open(trace_folder).accesses


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("accesses", pl.col("reads").cast(pl.Int64), "column reads is Int64, not UInt64"),
        (
            "accesses",
            pl.lit(3, pl.UInt32).alias("structure"),
            "names structure 3, but there are only 3",
        ),
        ("accesses", pl.lit(2, pl.UInt32).alias("thread"), "names thread 2, but there are only 2"),
        ("accesses", pl.lit(1, pl.UInt32).alias("phase"), "names phase 1, but there are only 1"),
        ("accesses", pl.lit(2, pl.UInt32).alias("page"), "instance 0, page 2"),
        ("accesses", pl.lit(1, pl.UInt32).alias("instance"), "instance 1, page 1"),
        ("accesses", pl.lit(None, pl.UInt64).alias("writes"), "5 values of writes are missing"),
        ("first_touch", pl.lit(9, pl.UInt32).alias("thread"), "names thread 9"),
        ("placement", pl.lit(9, pl.UInt32).alias("page"), "page 9"),
        ("structures", pl.lit("odd").alias("kind"), "a structure's kind is 'odd'"),
        ("structures", pl.lit(4, pl.UInt32).alias("process"), "names process 4"),
        ("structures", pl.col("structure") + 1, "does not number the rows"),
        (
            "structures",
            pl.lit([None], pl.List(pl.String)).alias("call_stack"),
            "values in lists of call_stack are missing",
        ),
        ("phase_spans", pl.lit(1, pl.UInt32).alias("phase"), "names phase 1, but there are only 1"),
        ("source_lines", pl.lit(3, pl.UInt32).alias("structure"), "names structure 3"),
        ("source_lines", pl.lit(3, pl.UInt32).alias("phase"), "names phase 3"),
        ("transfers", pl.lit(2, pl.UInt32).alias("from_thread"), "names from_thread 2"),
        ("transfers", pl.lit(2, pl.UInt32).alias("page"), "instance 0, page 2"),
        ("transfers", pl.lit(128, pl.Int32).alias("cache_line"), "only 128 cache lines"),
        ("transfers", pl.lit(-2, pl.Int32).alias("cache_line"), "only 128 cache lines"),
        ("instructions", pl.lit(2, pl.UInt32).alias("thread"), "names thread 2"),
        ("instructions", pl.lit(1, pl.UInt32).alias("phase"), "names phase 1"),
        ("kernel_accesses", pl.lit(2, pl.UInt32).alias("thread"), "names thread 2"),
        ("kernel_accesses", pl.lit(2, pl.UInt32).alias("page"), "instance 0, page 2"),
        ("burst_groups", pl.lit(8, pl.UInt32).alias("group"), "group 8"),
        ("page_bursts", pl.lit(8, pl.UInt32).alias("group"), "group 8"),
        ("page_bursts", pl.lit(2, pl.UInt32).alias("page"), "instance 0, page 2"),
        ("seen_lines", pl.lit(128, pl.Int32).alias("cache_line"), "only 128 cache lines"),
        ("seen_lines", pl.lit(2, pl.UInt32).alias("page"), "instance 0, page 2"),
        (
            "call_paths",
            pl.lit(1, pl.Int32).alias("caller"),
            "the caller of a path is no earlier row",
        ),
        ("call_paths", pl.lit(-2, pl.Int32).alias("caller"), "is no earlier row"),
        ("call_paths", pl.lit(0, pl.UInt32).alias("path"), "does not number the rows"),
        ("path_accesses", pl.lit(3, pl.UInt32).alias("path"), "names path 3"),
        ("path_accesses", pl.lit(2, pl.UInt32).alias("page"), "instance 0, page 2"),
        ("first_touch", pl.lit(3, pl.UInt32).alias("path"), "names path 3"),
        (
            "transfers",
            pl.col("travelling") + 65,
            "a part of its transfers is larger than their sum",
        ),
        ("transfers", pl.lit(9, pl.UInt64).alias("true_sharing"), "larger than their sum"),
        ("instances", pl.lit(3, pl.UInt32).alias("structure"), "names structure 3"),
        ("instances", pl.lit(1, pl.UInt32).alias("instance"), "structure 0 has no instance 1"),
        ("instances", pl.lit(0, pl.UInt32).alias("structure"), "two rows for one instance"),
        ("threads", pl.lit(0, pl.UInt64).alias("ended_ns"), "a thread ends before it is created"),
    ],
)
def test_wrong_values_are_refused(
    trace_folder: Path, tables: Tables, table: str, change: pl.Expr, message: str
) -> None:
    replace_table(trace_folder, table, tables[table].with_columns(change))
    with pytest.raises(NumascapeError) as caught:
        numascape.open(trace_folder).table(table)
    assert message in str(caught.value)
    assert f"{table}.parquet" in str(caught.value)


def test_missing_column_is_refused(trace_folder: Path, tables: Tables) -> None:
    replace_table(trace_folder, "threads", tables["threads"].drop("cpus"))
    with pytest.raises(NumascapeError, match="it has no column cpus"):
        _ = numascape.open(trace_folder).threads


def test_more_rows_than_memory_holds_are_refused(
    trace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant column of any length takes a few bytes in Parquet."""
    trace = numascape.open(trace_folder)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1, "SC_PAGE_SIZE": 64}.__getitem__)
    assert trace.phases.height == 1
    with pytest.raises(NumascapeError, match="it has 5 rows, which need 0 GiB of memory"):
        _ = trace.accesses


def test_a_trace_may_lie_in_a_folder_with_odd_letters(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    odd = tmp_path / "a [1] * ? ü"
    odd.mkdir()
    write_trace(odd / "x[0].numascape", tables, info)
    assert numascape.open(odd / "x[0].numascape").accesses.height == 5


def test_a_trace_from_before_phases_reads_as_one_of_phase_0(
    trace_folder: Path, tables: Tables
) -> None:
    replace_table(trace_folder, "first_touch", tables["first_touch"].drop("phase"))
    replace_table(trace_folder, "burst_groups", tables["burst_groups"].drop("phase"))
    trace = numascape.open(trace_folder)
    assert trace.first_touch["phase"].to_list() == [0, 0, 0]
    assert trace.burst_groups["phase"].to_list() == [0, 0]
