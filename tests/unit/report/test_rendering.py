# SPDX-License-Identifier: Apache-2.0
"""The page is one file below the maximum size, and has exactly the report's data."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from numascape.errors import NumascapeError
from numascape.report import draft, from_trace
from numascape.report.build import finish
from numascape.report.encode import encode_report
from numascape.report.fitting import encode_within, fold_to_cells
from numascape.report.render import SIZE, TEMPLATE_VARIABLE, fill, render
from synthetic import patterns
from synthetic.in_memory import trace_of
from synthetic.page import column, decode
from synthetic.pattern import Pattern

TEMPLATE = (
    "<head><title>Numascape</title></head>"
    '<script id="report-data" type="application/octet-stream"></script>'
)
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "viewer.html"
    path.write_text(TEMPLATE)
    monkeypatch.setenv(TEMPLATE_VARIABLE, str(path))
    return path


def test_columns_survive_encoding() -> None:
    report = from_trace(trace_of(patterns.bucket_sort(128, 8)))
    text, planes = decode(encode_report(report))
    assert text["format"] == "numascape-report"
    for table in ("columns", "cells", "first_touches"):
        for name, stored in text[table].items():
            expected = getattr(getattr(report, table), name)
            shown = None if stored is None else column(planes, stored)
            assert shown == (None if expected is None else expected.tolist()), f"{table}.{name}"
    assert [entry["name"] for entry in text["structures"]] == [e.name for e in report.structures]


def test_counts_above_32_bits_survive() -> None:
    pattern = Pattern("p", 1)
    s = pattern.structure("A", 3)
    counts = np.array([1 << 52, 3, (1 << 40) + 1])
    pattern.access(s, np.arange(3), np.array(0), counts, 0)
    pattern.touch(s, np.arange(3), 0)
    text, planes = decode(encode_report(from_trace(trace_of(pattern))))
    assert column(planes, text["cells"]["reads"]) == counts.tolist()


def test_the_largest_structures_are_folded_until_the_report_fits() -> None:
    pattern = Pattern("noise", 64)
    random = np.random.default_rng(7)
    page, thread = np.arange(2048)[None, :], np.arange(64)[:, None]
    large = pattern.structure("large", 2048)
    pattern.access(large, page, thread, random.integers(1, 1 << 30, (64, 2048)), 0)
    pattern.touch(large, page, 0)
    small = pattern.structure("small", 16)
    pattern.access(small, page[:, :16], thread, 1 << 26, 1)
    pattern.touch(small, page[:, :16], 0)
    trace = trace_of(pattern)
    text, _ = encode_within(draft(trace), 100_000)
    assert 30_000 < len(text) <= 100_000
    report, planes = decode(text)
    widths = {s["name"]: s["pages_per_column"] for s in report["structures"]}
    assert widths["large"] >= 8
    assert widths["small"] == 1
    assert sum(column(planes, report["cells"]["reads"])) == trace.accesses["reads"].sum()
    assert f"columns of up to {widths['large']} pages" in report["folded"][0]


def test_names_are_cut_when_folding_is_not_enough() -> None:
    pattern = Pattern("names", 1)
    random = np.random.default_rng(7)
    for _ in range(40):
        name = "".join(map(chr, random.integers(33, 126, 9000)))
        s = pattern.structure(name, 1)
        pattern.access(s, np.array(0), np.array(0), 1, 0)
        pattern.touch(s, np.array([0]), 0)
    started = draft(trace_of(pattern))
    report, _ = decode(encode_within(started, 40_000)[0])
    assert {len(entry["name"]) for entry in report["structures"]} == {160}


def test_what_cannot_fit_is_refused() -> None:
    started = draft(trace_of(patterns.many_threads(4, 4, 4)))
    with pytest.raises(NumascapeError, match="does not fit"):
        encode_within(started, 500)


def test_hostile_names_are_inside_the_data_only() -> None:
    started = draft(trace_of(patterns.hostile()))
    page = fill(TEMPLATE, started, SIZE)[0].decode()
    assert "pwned" not in page.replace("window.pwned = 1&lt;/script&gt;", "")
    assert page.count("<script") == 1
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", page.split('octet-stream">')[1].split("<")[0])


def test_a_page_without_a_place_for_data_is_refused() -> None:
    started = draft(trace_of(patterns.sparse()))
    with pytest.raises(NumascapeError, match="has no place for the data"):
        fill("<html></html>", started, SIZE)


@pytest.mark.usefixtures("template")
def test_report_writes_beside_the_trace_s_name(
    trace_folder: Path, numascape: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, said = numascape("report", trace_folder)
    assert status == 0
    assert "sum.html" in said
    report, _ = decode(Path("sum.html").read_text().split('octet-stream">')[1].split("<")[0])
    assert report["run"]["program"] == "/home/ada/sum"
    assert [(s["name"], s["reads"], s["writes"]) for s in report["structures"]] == [
        ("A", 912, 1024),
        ("B", 30, 34),
        ("unused", 0, 0),
    ]


@pytest.mark.usefixtures("template")
def test_report_shows_the_run_on_another_machine(
    trace_folder: Path, numascape: Command, tmp_path: Path
) -> None:
    page = tmp_path / "r.html"
    status, _, _ = numascape("report", trace_folder, "-m", "numa16", "-o", page, "--quiet")
    assert status == 0
    report, _ = decode(page.read_text().split('octet-stream">')[1].split("<")[0])
    assert len(report["machine"]["nodes"]) == 8
    assert "shown as on NUMA16" in report["run"]["laid_out"]
    status, _, said = numascape("report", trace_folder, "-m", "nowhere", "-o", page)
    assert (status, said.count("\n")) == (2, 1)


@pytest.mark.usefixtures("template")
def test_an_unwritable_page_is_one_line_and_leaves_nothing(
    trace_folder: Path, numascape: Command, tmp_path: Path
) -> None:
    status, _, said = numascape("report", trace_folder, "-o", tmp_path / "missing" / "r.html")
    assert status == 2
    assert said.count("\n") == 1
    assert "cannot write" in said
    assert not list(tmp_path.glob("*.html*")) or [p.name for p in tmp_path.glob("*.html*")] == [
        "viewer.html"
    ]


def test_a_missing_viewer_page_is_one_line(
    trace_folder: Path, numascape: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(TEMPLATE_VARIABLE, str(tmp_path / "none.html"))
    status, _, said = numascape("report", trace_folder, "-o", tmp_path / "r.html")
    assert (status, said.count("\n")) == (2, 1)
    assert "none.html" in said


@pytest.mark.usefixtures("template")
def test_the_page_is_written_whole_into_its_place(tmp_path: Path) -> None:
    started = draft(trace_of(patterns.sparse()))
    page = tmp_path / "r.html"
    assert render(started, page) == page.stat().st_size
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


@pytest.mark.slow  # a million cells
def test_a_thousand_threads_fit() -> None:
    trace = trace_of(patterns.many_threads(1024, 1024))
    report, planes = decode(encode_within(draft(trace), SIZE)[0])
    assert len(report["threads"]) == 1024
    assert sum(column(planes, report["cells"]["writes"])) == trace.accesses["writes"].sum()


def test_cells_are_bounded_even_when_they_compress_to_nothing() -> None:
    started = draft(trace_of(patterns.many_threads(64, 512, 64)))
    cells = sum(started.folded.cell_counts().values())
    bounded = fold_to_cells(started, cells // 3)
    assert 0 < sum(bounded.folded.cell_counts().values()) <= cells // 3
    assert finish(bounded).cells.reads.sum() == finish(started).cells.reads.sum()
