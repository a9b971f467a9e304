# SPDX-License-Identifier: Apache-2.0
"""The page of mappings of tasks: metrics, loads, traffic, migrations, simulated iterations."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from browser.accessibility import faults_on_paper, faults_on_screen, on_each_screen
from browser.opened import Open, Opened, saved_numbers, settle
from numascape.balance import Problem, flat_target
from numascape.balance.generators import jacobi2d
from numascape.balance.simulation import Costs
from numascape.report.balance import Mapped, render_balance

HOSTILE = "<script>window.pwned=1</script>"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 tasks on 4 nodes; the load of the present mapping rises from core to core."""
    target = dataclasses.replace(flat_target(4, 4, 2.0), name=HOSTILE)
    problem = Problem(jacobi2d(64, 16), target)
    results = [problem.run(name) for name in ("greedy", "numalb")]
    path = tmp_path_factory.mktemp("mapped") / "mappings.html"
    mapped = Mapped("<b>tasks</b>.json", problem, results, [50, 20], target, Costs())
    assert render_balance(mapped, path) < 1_000_000
    return path


@pytest.fixture
def opened(open_file: Open, file: Path) -> Opened:
    return open_file(file)


def test_mappings_are_compared_chosen_and_sorted(opened: Opened) -> None:
    page = opened.page
    assert page.locator("h1").inner_text() == f"<b>tasks</b>.json, mapped to {HOSTILE}"
    assert page.locator(".conclusion").inner_text().startswith("greedy: imbalance 1.80 → 1.00")
    assert opened.names() == ["now", "greedy", "numalb"]
    assert page.locator("#loads-title").inner_text() == "Load of each core: greedy"
    best = page.locator(".mappings b").evaluate_all(
        "cells => cells.map((b) => b.closest('tr').querySelector('.name').innerText)"
    )
    assert set(best) == {"greedy", "numalb"}
    page.get_by_role("button", name="Migrations").click()
    assert opened.names() == ["now", "numalb", "greedy"]
    assert page.locator("[aria-sort=ascending]").inner_text().startswith("Migrations")
    opened.choose("greedy")
    page.keyboard.press("ArrowUp")
    assert page.locator("#loads-title").inner_text() == "Load of each core: numalb"
    page.wait_for_url("**#v=1&structure=2&results=migrations-up")
    page.keyboard.press("ArrowUp")
    assert page.locator("table.traffic").count() == 1
    assert page.evaluate("window.pwned") is None
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


def test_loads_and_iterations_are_drawn_and_read_with_keys(opened: Opened) -> None:
    page = opened.page
    loads, rows = ".core-plot.loads canvas", ".timeline-rows canvas"
    # All bars are as high as perfect balance; the line of the present mapping starts below it.
    assert opened.drawn(loads, 0.09, 0.9)
    assert not opened.drawn(loads, 0.09, 0.2)
    page.locator(".core-plot.loads").focus()
    page.keyboard.press("End")
    reading = page.locator(".core-reading").first
    assert reading.inner_text() == "Core 15, node 3: 1.000, before 1.800"
    page.keyboard.press("ArrowLeft")
    assert reading.inner_text().startswith("Core 14, node 3:")
    # At first all cores work, then the first ones wait for the last ones.
    assert opened.drawn(rows, 0.01, 0.02)
    assert not opened.drawn(rows, 0.3, 0.02)
    assert opened.drawn(rows, 0.3, 0.98)
    # The axis ends with the later end of the present mapping; the figure says so.
    assert page.locator(".timeline-rows .rest").inner_text().startswith("done after")
    assert page.locator(".time-axis").inner_text().endswith(": end with the present mapping")
    page.locator(".timeline-rows").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".core-reading").nth(1).inner_text().startswith("Core 1, node 0, ")
    assert "work 100" in page.locator(".core-reading").nth(1).inner_text()


def test_numbers_are_saved(opened: Opened) -> None:
    page = opened.page
    for label, heading, rows in (
        ("Save: Mappings", "mapping,imbalance,communication,off_node", 3),
        ("Save: Load of each core: greedy", "first_core,cores,node,before,after", 16),
        ("Save: Traffic, greedy", "from_node,to_node,traffic_greedy", 16),
        ("Save: Tasks that migrate", "from_node,to_node,tasks_that_migrate", 16),
        ("Save: Simulated iterations: greedy", "iteration,after_balancing,seconds,end", 6),
    ):
        lines = saved_numbers(page, label)
        assert lines[0].startswith(heading)
        assert len(lines) == 1 + rows


@pytest.fixture(scope="module")
def many_nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = flat_target(32, 4, 2.0)
    problem = Problem(jacobi2d(256, 128), target)
    path = tmp_path_factory.mktemp("many") / "mappings.html"
    results = [problem.run("greedy")]
    render_balance(Mapped("tasks.json", problem, results, [50], target, Costs()), path)
    return path


def test_all_nodes_are_on_paper(open_file: Open, many_nodes: Path) -> None:
    page = open_file(many_nodes, width=720).page
    page.emulate_media(media="print")
    settle(page)
    cut = page.locator(".matrix-frame").evaluate_all(
        "frames => frames.map((one) => one.scrollWidth - one.clientWidth)"
    )
    assert len(cut) == 3
    assert max(cut) <= 0
    assert faults_on_paper(page) == []
    assert page.locator(".matrix-legend").first.inner_text().startswith("within a node")


def test_some_of_many_nodes_have_a_name_on_a_small_screen(
    open_file: Open, many_nodes: Path
) -> None:
    page = open_file(many_nodes, width=390).page
    names = page.locator(".node-axis").first.locator("span")
    named = [(i, text) for i, text in enumerate(names.all_inner_texts()) if text]
    assert 8 <= len(named) < 32
    assert all(text == str(i) for i, text in named)


@on_each_screen
def test_it_is_readable_on_every_screen(
    open_file: Open, file: Path, width: int, theme: str
) -> None:
    assert faults_on_screen(open_file, file, width, theme) == []


def test_it_is_printed_in_grey(opened: Opened) -> None:
    opened.page.emulate_media(media="print")
    settle(opened.page)
    for canvas, x, y in ((".core-plot.loads canvas", 0.09, 0.9), (".timeline-rows canvas", 0, 0)):
        red, green, blue, _ = opened.pixel(canvas, x, y)
        assert red == green == blue
    assert not opened.page.locator(".save-menu").first.is_visible()
    assert not opened.page.locator(".core-reading").first.is_visible()
    assert faults_on_paper(opened.page) == []
