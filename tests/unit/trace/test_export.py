# SPDX-License-Identifier: Apache-2.0
"""Exported tables have the content of the trace."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from numascape.trace.schema import SCHEMAS

Numascape = Callable[..., tuple[int, str, str]]
Tables = dict[str, pl.DataFrame]


def test_parquet_tables_equal_the_traces(
    numascape: Numascape, trace_folder: Path, tables: Tables, tmp_path: Path
) -> None:
    assert numascape("export", trace_folder, "--format", "parquet", "-o", tmp_path / "out")[0] == 0
    for name in SCHEMAS:
        assert pl.read_parquet(tmp_path / "out" / f"{name}.parquet").equals(tables[name])


def test_csv_tables_are_what_any_csv_reader_reads(
    numascape: Numascape, trace_folder: Path, tmp_path: Path, tables: dict[str, pl.DataFrame]
) -> None:
    status, out, err = numascape("export", trace_folder, "-o", tmp_path / "out")
    assert (status, out) == (0, "")
    assert "wrote 20 files" in err
    rows = {}
    for name in SCHEMAS:
        with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
            rows[name] = list(csv.DictReader(file))
    assert {name: len(rows[name]) for name in SCHEMAS} == {
        name: table.height for name, table in tables.items()
    }
    assert rows["structures"][0]["call_stack"] == "fill (sum.c:10); main (sum.c:20)"
    assert rows["structures"][1]["call_stack"] == ""
    assert [row["cpus"] for row in rows["threads"]] == ["0 1", "1"]
    assert sum(int(row["writes"]) for row in rows["accesses"]) == 1058
    assert json.loads((tmp_path / "out" / "trace.json").read_text())["program"] == "/home/ada/sum"


def test_quiet_export_says_nothing(
    numascape: Numascape, trace_folder: Path, tmp_path: Path
) -> None:
    assert numascape("export", "-q", trace_folder, "-o", tmp_path / "out") == (0, "", "")


def test_a_file_in_the_way_is_named(
    numascape: Numascape, trace_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    status, _, err = numascape("export", trace_folder, "-o", tmp_path / "file")
    assert status == 2
    assert err.startswith(f"numascape: error: cannot write in {tmp_path}/file: ")


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_a_damaged_table_leaves_no_half_file(
    numascape: Numascape, trace_folder: Path, tmp_path: Path, file_format: str
) -> None:
    (trace_folder / "accesses.parquet").write_bytes(b"PAR1")
    status, _, err = numascape(
        "export", trace_folder, "--format", file_format, "-o", tmp_path / "out"
    )
    assert status == 2
    assert "accesses.parquet is damaged" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"structures.{file_format}"]
