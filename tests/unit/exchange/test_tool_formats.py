# SPDX-License-Identifier: Apache-2.0
"""Files for other tools have the sums of the trace."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from numascape.trace import Trace, write_trace

Numascape = Callable[..., tuple[int, str, str]]
Tables = dict[str, pl.DataFrame]
Export = Callable[[str], Path]


@pytest.fixture
def export(numascape: Numascape, trace_folder: Path, tmp_path: Path) -> Export:
    def run(tool: str) -> Path:
        file = tmp_path / f"run.{tool}"
        result = numascape("export", trace_folder, "--format", tool, "-o", file)
        assert result == (0, "", f"numascape: wrote {file}\n")
        return file

    return run


def test_callgrind_has_each_source_line_once(export: Export) -> None:
    text = export("callgrind").read_text()
    assert "events: Reads Writes\nsummary: 942 1058\n" in text
    # Line 31 is in the table for A and for B.
    assert text.endswith("\nfl=sum.c\nfn=add\n31 942 34\n\nfl=sum.c\nfn=fill\n12 0 1024\n")


@pytest.mark.program
def test_callgrind_annotate_reads_it(export: Export) -> None:
    annotate = shutil.which("callgrind_annotate")
    assert annotate is not None, "Valgrind is missing"
    result = subprocess.run(
        [annotate, "--auto=no", export("callgrind")], capture_output=True, text=True, check=True
    )
    assert "PROGRAM TOTALS" in result.stdout
    assert "sum.c:add" in result.stdout


def test_speedscope_weighs_stacks_by_accesses(export: Export, tables: Tables) -> None:
    document: dict[str, Any] = json.loads(export("speedscope").read_text())
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    made, foreign, touched, called = document["profiles"]
    accesses = tables["accesses"].select(pl.sum("reads") + pl.sum("writes")).item()
    assert made["endValue"] == sum(made["weights"]) == accesses
    stacks = [[frames[i] for i in sample] for sample in made["samples"]]
    assert stacks == [["main (sum.c:20)", "fill (sum.c:10)", "A"], ["global", "B"]]
    # Thread 1 reads both pages of A, which thread 0 touched first.
    assert foreign["weights"] == [512 + 400]
    assert touched["weights"] == [2, 1]
    assert [[frames[i] for i in sample] for sample in called["samples"]] == [
        ["main (sum.c:20)", "fill (sum.c:12)", "A"],
        ["main (sum.c:20)", "add (sum.c:31)", "A"],
        ["main (sum.c:20)", "add (sum.c:31)", "B"],
    ]
    assert called["weights"] == [12, 8, 3]


def test_speedscope_has_the_calls_that_led_to_first_touches(
    export: Export, trace_folder: Path, tables: Tables
) -> None:
    paths = pl.Series([1, 1, 0], dtype=pl.UInt32)
    touched = tables["first_touch"].with_columns(path=paths)
    info = Trace.read(trace_folder).info
    write_trace(trace_folder, {**tables, "first_touch": touched}, info)
    document: dict[str, Any] = json.loads(export("speedscope").read_text())
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    by_calls = document["profiles"][-1]
    assert by_calls["name"] == "pages touched, by the calls that led to the first touch"
    names = tables["structures"]["name"].to_list()
    expected: dict[tuple[str, ...], int] = {}
    for structure, path in touched.select("structure", "path").iter_rows():
        calls = ["main (sum.c:20)", "fill (sum.c:12)"][: path + 1]
        stack = (*calls, names[structure])
        expected[stack] = expected.get(stack, 0) + 1
    stacks = [tuple(frames[i] for i in sample) for sample in by_calls["samples"]]
    assert dict(zip(stacks, by_calls["weights"], strict=True)) == expected


def test_chrome_has_threads_phases_and_first_touches(export: Export) -> None:
    events = json.loads(export("chrome").read_text())["traceEvents"]
    threads = [event for event in events if event.get("cat") == "thread"]
    assert [(e["tid"], e["ts"], e["dur"]) for e in threads] == [(77, 0.0, 9.0), (78, 0.5, 7.5)]
    assert [e["args"]["reads"] for e in threads] == [0, 942]
    assert [e["name"] for e in events if e.get("cat") == "phase"] == ["run"]
    counters = [event for event in events if event["name"].startswith("pages touched first")]
    assert [e["args"]["pages"] for e in counters] == [1, 2, 1]
    assert all(e["ts"] > 0 for e in counters)


def test_names_are_on_one_line(
    numascape: Numascape, trace_folder: Path, tables: Tables, tmp_path: Path
) -> None:
    lines = tables["source_lines"].with_columns(function=pl.lit("bad\nfn=forged\x1b[31m"))
    write_trace(trace_folder, {**tables, "source_lines": lines}, Trace.read(trace_folder).info)
    file = tmp_path / "out"
    assert numascape("export", trace_folder, "--format", "callgrind", "-o", file)[0] == 0
    assert "\nfn=forged" not in file.read_text()
    assert "\x1b" not in file.read_text()


def test_without_source_lines_there_is_no_callgrind_profile(
    numascape: Numascape, trace_folder: Path, tables: Tables, tmp_path: Path
) -> None:
    write_trace(
        trace_folder,
        {**tables, "source_lines": tables["source_lines"].clear()},
        Trace.read(trace_folder).info,
    )
    file = tmp_path / "out"
    status, _, err = numascape("export", trace_folder, "--format", "callgrind", "-o", file)
    assert status == 2
    assert "it was recorded without source lines" in err
    assert not file.exists()
