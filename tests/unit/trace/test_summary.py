# SPDX-License-Identifier: Apache-2.0
"""The summary's sums, shares and first touchers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from numascape.quantities import bytes_text, count_text
from numascape.trace import Trace, TraceInfo, write_trace
from numascape.trace.summary import structure_summary

Tables = dict[str, pl.DataFrame]


def test_each_structure_has_its_sums(trace_folder: Path) -> None:
    rows = structure_summary(Trace.read(trace_folder)).to_dicts()
    assert [row["name"] for row in rows] == ["A", "B", "unused"]
    a, b, unused = rows
    assert (a["reads"], a["writes"], a["threads"], a["readers"], a["writers"]) == (
        912,
        1024,
        2,
        1,
        1,
    )
    assert a["share"] == pytest.approx(1936 / 2000)
    assert (a["first_touch_thread"], a["first_touch_share"]) == (0, 1.0)
    assert (b["reads"], b["writes"], b["threads"], b["first_touch_thread"]) == (30, 34, 1, 1)
    assert (unused["reads"], unused["share"], unused["first_touch_thread"]) == (0, 0.0, None)


def test_a_run_without_accesses_has_no_shares(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    tables["accesses"] = tables["accesses"].clear()
    tables["first_touch"] = tables["first_touch"].clear()
    write_trace(tmp_path / "t.numascape", tables, info)
    summary = structure_summary(Trace.read(tmp_path / "t.numascape"))
    assert summary["share"].to_list() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.00 k"),
        (999_499, "999 k"),
        (999_500, "1.00 M"),
        (45_600_000, "45.6 M"),
        ((1 << 64) - 1, "18.4 E"),
    ],
)
def test_counts_have_three_digits(number: int, text: str) -> None:
    assert count_text(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(12, "12 B"), (4096, "4 KiB"), (128 << 20, "128 MiB")]
)
def test_sizes_are_binary(number: int, text: str) -> None:
    assert bytes_text(number) == text
