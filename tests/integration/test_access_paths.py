# SPDX-License-Identifier: Apache-2.0
"""Samples know the calls that led to them, although the program has no frame pointers."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import numascape
from numascape.analysis.call_paths import calls_to
from numascape.samples.perf_data import read_perf_data
from numascape.samples.tables import convert_samples
from numascape.trace import Trace, write_trace

CPU_MS = 500
PAGES = 64
OFTEN = 0.9
"""The share of the accesses to the table that `often` leads to."""


@pytest.fixture(scope="module")
def sampled(record: Any) -> Any:
    return record("two_callers", str(CPU_MS), recorder="samples", event="task-clock")


def samples_of(trace: Trace, name: str) -> Counter[tuple[str, ...]]:
    """The samples of a structure by the functions that led to them, outermost first."""
    functions = trace.call_paths["function"].to_list()
    named = trace.structures.filter(pl.col("name") == name).select("structure")
    rows = trace.path_accesses.join(named, on="structure")
    found: Counter[tuple[str, ...]] = Counter()
    counts = rows["reads"] + rows["writes"]
    for path, many in zip(calls_to(trace, rows["path"]), counts, strict=True):
        found[tuple(functions[call] for call in path)] += many
    return found


def assert_called_by_both(trace: Trace) -> None:
    reading = {path: many for path, many in samples_of(trace, "table").items() if "sum" in path}
    whole = sum(reading.values())
    by_caller = {
        caller: sum(many for path, many in reading.items() if path[-3:] == ("main", caller, "sum"))
        for caller in ("often", "seldom")
    }
    # Hardly a sample is where callers are not known, such as in the last instruction of a function.
    assert sum(by_caller.values()) > 0.95 * whole, reading
    error = 6 * math.sqrt(OFTEN * (1 - OFTEN) / whole)  # six standard deviations
    assert abs(by_caller["often"] / whole - OFTEN) < error, by_caller


def test_the_callers_of_a_function_have_their_shares(sampled: Any) -> None:
    assert sampled.output == "right\n"
    assert_called_by_both(sampled.trace)


def test_paths_begin_where_the_program_begins(sampled: Any) -> None:
    whole = samples_of(sampled.trace, "table")
    from_start = sum(many for path, many in whole.items() if path[0] == "_start")
    assert from_start > 0.9 * sum(whole.values()), whole


def test_calls_have_lines(sampled: Any) -> None:
    calls = sampled.trace.call_paths.filter(pl.col("function") == "often")
    [file] = set(calls["file"])
    text = Path(file).read_text().splitlines()
    assert all("sum(table" in text[line - 1] for line in calls["line"])


def test_samples_with_paths_are_the_accesses(sampled: Any) -> None:
    """The table is alone on its pages, so nothing is divided."""
    trace = sampled.trace
    [table] = trace.structures.filter(pl.col("name") == "table")["structure"]
    keys = ["instance", "page", "thread", "phase"]
    sums = [
        frame.filter(pl.col("structure") == table)
        .group_by(keys)
        .agg(pl.col("reads", "writes").sum())
        .sort(keys)
        for frame in (trace.accesses, trace.path_accesses)
    ]
    assert sums[0].equals(sums[1])


def test_they_can_be_left_out(record: Any) -> None:
    options = {"recorder": "samples", "event": "task-clock", "no_call_paths": True}
    trace = record("two_callers", "50", **options).trace
    assert trace.path_accesses.is_empty()
    assert "call_paths" not in trace.info.tables


def test_show_and_speedscope_have_them(sampled: Any, command: Path, tmp_path: Path) -> None:
    words = ["show", sampled.trace.path, "--structure", "table"]
    shown = subprocess.run([command, *words], capture_output=True, text=True, check=True).stdout
    assert "Called by" in shown
    file = tmp_path / "profile.json"
    words = ["export", sampled.trace.path, "--format", "speedscope", "-o", file]
    subprocess.run([command, *words], check=True)
    document = json.loads(file.read_text())
    frames = [frame["name"].split(" (")[0] for frame in document["shared"]["frames"]]
    [profile] = [one for one in document["profiles"] if "calls that led" in one["name"]]
    ends = {tuple(frames[frame] for frame in stack[-3:]) for stack in profile["samples"]}
    assert {("often", "sum", "table"), ("seldom", "sum", "table")} <= ends


def test_a_running_process_has_them_too(programs: Path, attach: Any) -> None:
    with subprocess.Popen([programs / "two_callers", "60000"]) as process:
        try:
            options = ("--recorder", "samples", "--event", "task-clock")
            assert_called_by_both(attach(process.pid, *options, seconds=2).trace)
        finally:
            process.kill()


@pytest.mark.parametrize("chains", ["dwarf,1024", "fp"])
def test_perf_imports_them(programs: Path, command: Path, tmp_path: Path, chains: str) -> None:
    """Only DWARF finds callers without frame pointers; with either, the samples are imported."""
    data = tmp_path / "perf.data"
    options = ["-q", "-d", "-e", "page-faults:u", "-c", "1", "--call-graph", chains]
    program = programs / "two_callers"
    subprocess.run(["perf", "record", *options, "-o", data, program, "1"], check=True)
    subprocess.run([command, "import", data, "-o", tmp_path / "t.numascape"], check=True)
    trace = numascape.open(tmp_path / "t.numascape")
    [table] = trace.structures.filter(pl.col("name") == "table")["structure"]
    touched = trace.first_touch.filter(pl.col("structure") == table)
    assert (touched.height, set(touched["function"])) == (PAGES, {"main"})
    functions = trace.call_paths["function"]
    assert {functions[path[-1]] for path in calls_to(trace, touched["path"])} == {"main"}
    # As if these were samples, which only some processors take.
    recording = dataclasses.replace(read_perf_data(data), counts="samples")
    write_trace(tmp_path / "s.numascape", *convert_samples(recording))
    found = samples_of(numascape.open(tmp_path / "s.numascape"), "table")
    assert sum(many for path, many in found.items() if path[-1] == "main") == PAGES
    if chains != "fp":
        assert {path[0] for path in found} == {"_start"}
