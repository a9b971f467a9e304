# SPDX-License-Identifier: Apache-2.0
"""The page of policies on a machine: their times, the traffic and the pages of a chosen one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from browser.accessibility import faults_on_paper, faults_on_screen, on_each_screen
from browser.opened import Open, Opened, saved_numbers, settle
from numascape.machine.sources import open_machine
from numascape.plan.plan import Plan
from numascape.prediction.layout import laid_out
from numascape.prediction.scenarios import Scenarios
from numascape.report.prediction import Predicted, render_prediction
from synthetic.pattern import Pattern
from synthetic.write import write_pattern

HOSTILE = "<script>window.pwned=1</script>"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """32 threads on numa16, which has 8 nodes: each uses its part of what thread 0 touched."""
    folder = tmp_path_factory.mktemp("predicted")
    pattern = Pattern("solver", 32)
    page = np.arange(640)
    field = pattern.structure(HOSTILE, 640)
    pattern.access(field, page, page // 20, 3_000_000, 1_000_000)
    pattern.touch(field, page, 0)
    trace = write_pattern(pattern, folder / "one.numascape")
    machine = open_machine("numa16")
    scenarios = Scenarios(trace, machine, laid_out(32, machine), with_pages=True)
    found = scenarios.predict(["observed", "interleave"], {"<b>plan</b>.toml": Plan()})
    path = folder / "policies.html"
    predicted = Predicted(trace, machine, found, "The conclusion.", ["lines"])
    assert render_prediction(predicted, path) < 1_000_000
    return path


@pytest.fixture
def opened(open_file: Open, file: Path) -> Opened:
    return open_file(file)


def texts(opened: Opened, selector: str) -> list[str]:
    found = opened.page.locator(selector).all_inner_texts()
    return [text.replace("\u202f", " ").replace("\xa0", " ") for text in found]


def test_the_sum_of_all_traffic_is_in_bytes(opened: Opened) -> None:
    (title, _), (table, _) = texts(opened, ".policy-traffic h3"), texts(opened, "table.traffic")
    assert title.split(": ")[1] == table.split("\t")[-1]


def test_limits_are_one_line_on_a_small_screen(open_file: Open, file: Path) -> None:
    limits = open_file(file, width=390).page.locator("td.limit")
    lines = limits.evaluate_all(
        """cells => cells.map((cell) => {
            const text = document.createRange();
            text.selectNodeContents(cell);
            return new Set([...text.getClientRects()].map(({ top }) => top)).size;
        })"""
    )
    assert lines == [1, 1, 1]


def test_policies_are_chosen_with_keys(opened: Opened) -> None:
    page = opened.page
    assert opened.names() == ["observed", "interleave", "<b>plan</b>.toml"]
    assert "The conclusion." in texts(opened, ".conclusion")
    assert page.locator("tr[aria-selected=true] .name").inner_text() == "interleave"
    assert len(texts(opened, "table.traffic")) == 2
    (row,) = texts(opened, "section[aria-labelledby=pages-by-node] tbody tr")
    assert row.split("\t")[3].strip() == "node 0: 100 %"
    assert "8 nodes: node 0: 13 %, node 1: 13 %" in row
    opened.choose("interleave")
    page.keyboard.press("ArrowUp")
    assert page.locator("#traffic-title").inner_text() == "Traffic between nodes: observed"
    assert len(texts(opened, "table.traffic")) == 1
    page.wait_for_url("**#v=1&structure=0")
    assert page.evaluate("window.pwned") is None
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


def test_numbers_are_saved(opened: Opened) -> None:
    page = opened.page
    for label, heading, rows in (
        ("Save: Predicted times", "policy,relative,low,high", 3),
        ("Save: Traffic: interleave", "policy,cpu_node,memory_node,bytes", 2 * 8 * 8),
        ("Save: Pages by node", "policy,structure,node,pages,copied", 2 * 8),
    ):
        lines = saved_numbers(page, label)
        assert lines[0].startswith(heading)
        assert len(lines) == 1 + rows


@on_each_screen
def test_it_is_readable_on_every_screen(
    open_file: Open, file: Path, width: int, theme: str
) -> None:
    assert faults_on_screen(open_file, file, width, theme) == []


def test_it_is_printed_in_grey(opened: Opened) -> None:
    opened.page.emulate_media(media="print")
    settle(opened.page)
    colours = opened.page.locator(".node-bar span").evaluate_all(
        "parts => parts.map((part) => getComputedStyle(part).backgroundColor)"
    )
    assert len(set(colours)) == 8
    for colour in colours:
        red, green, blue = (int(part) for part in colour.strip("rgb()").split(","))
        assert red == green == blue
    assert not opened.page.locator(".save-menu").first.is_visible()
    assert faults_on_paper(opened.page) == []
