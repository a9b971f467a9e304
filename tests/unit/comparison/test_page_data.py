# SPDX-License-Identifier: Apache-2.0
"""The data of a comparison's page, and the size of its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from numascape.comparison import Comparison, compare_traces
from numascape.comparison import page as page_module
from numascape.comparison.page import IN_FILE, render_comparison, report_of
from numascape.comparison.page_data import page_data
from numascape.machine.sources import open_machine
from numascape.report import Draft, on_machine
from numascape.report.render import SIZE, viewer_page
from numascape.trace import Trace
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern
from synthetic.patterns import HOSTILE

Compared = tuple[Comparison, tuple[Draft, Draft]]


def run(names: list[str], threads: int, first: int | None) -> Pattern:
    """Each structure has 1280 pages, of which each thread uses its part; `first` touched all."""
    pattern = Pattern("solver", threads)
    pattern.placed_by_first_touch = True
    page = np.arange(1280)
    for i, name in enumerate(names):
        number = pattern.structure(name, 1280, line=i)
        owner = page * threads // 1280
        pattern.access(number, page, owner, (9 - i) * 10_000_000, 10_000_000)
        pattern.touch(number, page, owner if first is None else first)
    return pattern


def opened(before: Pattern, after: Pattern) -> tuple[Trace, Trace]:
    return (
        trace_of(before, "before"),
        trace_of(after, "after"),
    )


@pytest.fixture(scope="module")
def compared() -> Compared:
    traces = opened(run(["field", "went"], 32, 0), run(["came", "field"], 16, None))
    return compare_traces(*traces), (report_of(traces[0], 0, "#"), report_of(traces[1], 1, "#"))


def test_each_row_leads_to_the_figures_of_both_reports(compared: Compared) -> None:
    comparison, reports = compared
    data = page_data(comparison, reports, IN_FILE)
    found = {}
    for row in data["structures"]:
        for side, report in zip(row["sides"], reports, strict=True):
            if side is not None:
                assert report.structures[side["position"]].name == row["name"]
        found[row["name"]] = [side is not None for side in row["sides"]]
    assert found == {"field": [True, True], "went": [True, False], "came": [False, True]}


def test_findings_lead_to_their_rows(compared: Compared) -> None:
    data = page_data(*compared, IN_FILE)
    gone = [finding for finding in data["findings"]["gone"] if finding["name"]]
    assert {finding["kind"] for finding in gone} == {"serial first touch"}
    for finding in gone:
        assert data["structures"][finding["row"]]["name"] == finding["name"]
    assert [run["verdict"] for run in data["runs"]] == list(compared[0].verdicts)


def test_names_are_bounded_and_printable() -> None:
    long = "x" * 10_000
    traces = opened(run([*HOSTILE[:4], long], 4, 0), run([long], 4, 0))
    reports = report_of(traces[0], 0, "#"), report_of(traces[1], 1, "#")
    data = page_data(compare_traces(*traces), reports, IN_FILE)
    for row in data["structures"]:
        assert len(row["name"]) <= 400
        assert row["name"].isprintable()


def test_the_file_keeps_its_size_whatever_the_runs_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Structures of 4096 columns with counts that hardly compress; they need twice the room."""
    pages, threads = 4096, 8
    pattern = Pattern("large", threads)
    page = np.arange(pages)
    draw = np.random.default_rng(7)
    for i in range(3):
        structure = pattern.structure(f"a{i}", pages, line=i)
        counts = draw.integers(1, 1 << 40, pages)
        pattern.access(structure, page, page % threads, counts, counts // 3)
        pattern.touch(structure, page, page % threads)
    trace = trace_of(pattern, "large")
    comparison = compare_traces(trace, trace)
    file = tmp_path / "page.html"
    whole = render_comparison(comparison, (trace, trace), file)
    assert file.stat().st_size == whole <= SIZE
    bare = len(viewer_page())
    room = (whole - bare) // 2
    monkeypatch.setattr(page_module, "SIZE", bare + room)
    size = render_comparison(comparison, (trace, trace), file)
    assert file.stat().st_size == size
    assert bare + room // 2 < size <= bare + room


def test_on_another_machine_nodes_are_those_of_that_machine() -> None:
    traces = opened(run(["field"], 32, 0), run(["field"], 32, None))
    machine = open_machine("numa16")
    shown = on_machine(traces[0], machine), on_machine(traces[1], machine)
    comparison = compare_traces(*traces, machine, shown)
    field = comparison.structures[0]
    assert field.before is not None
    assert field.after is not None
    assert len(field.before.nodes) == 1
    assert len(field.after.nodes) == len(machine.nodes)
    assert comparison.before.remote_share == pytest.approx(1 - 1 / len(machine.nodes))
