# SPDX-License-Identifier: Apache-2.0
"""Traces of format version 1 stay readable.

`traces/version-1` was written on 2026-11-22 by the code of commit 04543ac: four threads
multiply matrices, each a block of rows. It must never be written again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import numascape
from numascape import OpenedTrace

OLD = Path(__file__).parent / "traces" / "version-1"


@pytest.fixture(scope="module")
def old() -> OpenedTrace:
    return numascape.open(OLD)


def test_all_tables_of_an_old_trace_are_read(old: OpenedTrace) -> None:
    assert old.info.version == 1
    assert (old.info.totals.reads, old.info.totals.writes) == (4_207_664, 72_056)
    assert old.info.totals.counted_reads is None  # not known then
    sizes = {name: old.table(name).height for name in old.info.tables}
    assert sizes["accesses"] > 0
    assert sizes["first_touch"] == 108
    assert old.structures["name"].to_list()[:3] == ["A", "B", "C"]
    reads, writes = (int(old.accesses[count].sum()) for count in ("reads", "writes"))
    assert (reads, writes) == (4_207_664, 72_056)


def test_tables_with_former_names_are_read(trace_folder: Path) -> None:
    before = numascape.open(trace_folder)
    lines, sources = before.source_lines, before.data_sources
    assert lines.height > 0 < sources.height
    document = json.loads((trace_folder / "trace.json").read_text())
    for name, former in (("source_lines", "lines"), ("data_sources", "sources")):
        document["tables"][former] = document["tables"].pop(name)
        (trace_folder / f"{name}.parquet").rename(trace_folder / f"{former}.parquet")
    (trace_folder / "trace.json").write_text(json.dumps(document))
    after = numascape.open(trace_folder)
    assert after.source_lines.equals(lines)
    assert after.data_sources.equals(sources)
    assert after.scan("source_lines").collect().equals(lines)


def test_an_old_trace_is_judged_and_reported(old: OpenedTrace, tmp_path: Path) -> None:
    assert [finding.kind.value for finding in old.findings()] == [
        "cache-resident",
        "no NUMA problem",
        "cache-resident",
    ]
    assert old.summary().height == 7
    page = old.report(tmp_path / "old.html")
    assert page.read_text().startswith("<!doctype html>")
