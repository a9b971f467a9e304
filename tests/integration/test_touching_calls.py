# SPDX-License-Identifier: Apache-2.0
"""First touches have the calls that led to them; the number of pages of each path is known."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from numascape.analysis.call_paths import calls_to
from numascape.trace import Trace

KERNEL = "the kernel, in a system call"
CUT = "More call paths led to first touches"


@pytest.fixture(params=["binary", "compiled"])
def recorded(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("record" if request.param == "binary" else "compiled")


def paths_to(trace: Trace, name: str) -> Counter[tuple[str, ...]]:
    """The pages of a structure by the functions that led to their first touch, outermost first."""
    functions = trace.call_paths["function"].to_list()
    named = trace.structures.filter(pl.col("name") == name).select("structure")
    touched = trace.first_touch.join(named, on="structure", how="semi")
    found: Counter[tuple[str, ...]] = Counter()
    for path in calls_to(trace, touched["path"]):
        found[tuple(functions[call] for call in path)] += 1
    return found


def from_main(trace: Trace, name: str) -> dict[tuple[str, ...], int]:
    """The same paths without what called `main`, which must be known."""
    found: Counter[tuple[str, ...]] = Counter()
    for path, pages in paths_to(trace, name).items():
        assert path[0] == "_start", path
        found[path[path.index("main") + 1 :]] += pages
    return dict(found)


def test_each_caller_of_a_function_has_its_pages(recorded: Any) -> None:
    recording = recorded("touching_calls")
    assert recording.output == "right\n"
    trace = recording.trace
    assert from_main(trace, "by_two") == {("first", "init"): 40, ("second", "init"): 24}
    assert from_main(trace, "twice") == {("init",): 6}


def test_inlined_functions_are_calls(recorded: Any) -> None:
    assert from_main(recorded("touching_calls").trace, "inlined") == {("third", "fill"): 8}


def test_a_call_of_a_recursive_function_is_there_once(recorded: Any) -> None:
    """The outermost call touches one page, those that it leads to touch the other eight."""
    found = from_main(recorded("touching_calls").trace, "recursive")
    assert found == {("descend",): 1, ("descend", "descend"): 8}


def test_threads_begin_with_their_function(recorded: Any) -> None:
    trace = recorded("touching_calls").trace
    found: Counter[tuple[str, ...]] = Counter()
    for path, pages in paths_to(trace, "by_threads").items():
        assert "main" not in path
        found[path[path.index("worker") :]] += pages
    assert found == {("worker", "init"): 20}


def test_functions_of_libraries_have_callers(record: Any) -> None:
    found = from_main(record("touching_calls").trace, "cleared")
    assert sum(found.values()) == 12
    assert all(path[0] == "clear" for path in found)


def test_the_kernel_has_the_callers_of_the_system_call(recorded: Any) -> None:
    trace = recorded("touching_calls").trace
    found = from_main(trace, "input")
    assert sum(found.values()) == 16
    assert all((path[0], path[-1]) == ("read_input", KERNEL) for path in found), found
    lines = trace.call_paths.filter(pl.col("function") == "read_input")
    [file] = set(lines["file"])
    text = Path(file).read_text().splitlines()
    assert all("read(zeros" in text[line - 1] for line in lines["line"])


def test_every_first_touch_has_a_path(recorded: Any) -> None:
    """The innermost call is the place that touched the page."""
    trace = recorded("touching_calls").trace
    assert CUT not in " ".join(trace.info.unseen)
    innermost = trace.call_paths.select("path", call="function", at="line")
    rows = trace.first_touch.join(innermost, on="path").filter(pl.col("file") != "")
    assert rows.height > 100
    assert rows.filter(pl.col("call") != pl.col("function")).is_empty()
    assert rows.filter(pl.col("at") != pl.col("line")).is_empty()


def test_very_many_paths_are_cut_and_the_trace_says_so(record: Any) -> None:
    few = record("touching_ways", 8).trace
    assert CUT not in " ".join(few.info.unseen)
    many = record("touching_ways", 14).trace
    assert CUT in " ".join(many.info.unseen)
    found = paths_to(many, "pages")
    assert sum(found.values()) == 1 << 14
    cut = [path for path in found if path[0] != "_start"]
    assert 0 < len(cut) < len(found)
    assert {path[0] for path in cut} == {""}  # unknown callers


def test_show_and_speedscope_have_them(record: Any, command: Path, tmp_path: Path) -> None:
    trace = record("touching_calls").trace
    words = ["show", trace.path, "--structure", "by_two"]
    shown = subprocess.run([command, *words], capture_output=True, text=True, check=True).stdout
    [line] = [line for line in shown.splitlines() if "First-touching code" in line]
    assert "Called by" in line
    file = tmp_path / "profile.json"
    words = ["export", trace.path, "--format", "speedscope", "-o", file]
    subprocess.run([command, *words], check=True)
    document = json.loads(file.read_text())
    frames = [frame["name"].split(" (")[0] for frame in document["shared"]["frames"]]
    [profile] = [one for one in document["profiles"] if "first touch" in one["name"]]
    weights: Counter[tuple[str, ...]] = Counter()
    for stack, pages in zip(profile["samples"], profile["weights"], strict=True):
        weights[tuple(frames[frame] for frame in stack[-3:])] += pages
    assert weights["first", "init", "by_two"] == 40
    assert weights["second", "init", "by_two"] == 24
