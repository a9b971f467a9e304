# SPDX-License-Identifier: Apache-2.0
"""The phases at the bottom of the window: every view shows the selected ones."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Locator

from browser.opened import Open, Opened, settle
from synthetic.heat import FILL, PAGES, READ, THREADS, WRITE, heat

A_READS, A_WRITES, B_WRITES = READ * PAGES, FILL * PAGES, WRITE * PAGES


@pytest.fixture
def report(open_pattern: Open) -> Opened:
    opened: Opened = open_pattern(heat())
    return opened


def counts(report: Opened, name: str) -> tuple[int, int, int]:
    """Reads, writes and threads of a structure in the table."""
    row = report.page.locator(f"table.structures tr:has(bdi:text-is('{name}'))")
    reads, writes = (
        int(
            (row.locator("td.number[title]").nth(i).get_attribute("title") or "").replace(
                "\u202f", ""
            )
        )
        for i in (0, 1)
    )
    return reads, writes, int(row.locator("td.number").nth(4).inner_text())


def chip(report: Opened, name: str) -> Locator:
    return report.page.locator(".phase", has_text=name)


def pressed(report: Opened) -> list[str]:
    return report.page.locator(".phase[aria-pressed=true] .phase-name").all_inner_texts()


def test_a_run_without_phases_has_no_bar(open_report: Open) -> None:
    assert open_report("matmul-naive").page.locator(".phases-bar").count() == 0


def test_phases_have_name_line_repetitions_and_share(report: Opened) -> None:
    text = chip(report, "sweep").inner_text().replace("\u202f", " ")
    assert text.split("\n") == ["sweep", "heat.c:8", "\u00d7 3", "43.9 %"]
    assert report.page.locator(".phase").count() == 3


def test_a_click_chooses_a_phase_for_every_view(report: Opened) -> None:
    assert counts(report, "A") == (A_READS, A_WRITES, THREADS)
    chip(report, "fill").click()
    assert pressed(report) == ["fill"]
    assert counts(report, "A") == (0, A_WRITES, 1)
    assert counts(report, "B") == (0, 0, 0)
    local = report.page.locator(".machine .split-legend li").first.inner_text()
    assert local.replace("\u202f", " ") == "local100 %"
    assert "share almost no pages" in report.page.locator(".sharing .statement").inner_text()
    assert report.page.locator(".line-uses .line-name").all_inner_texts()[0].startswith("fill")
    assert not report.drawn("canvas.accesses", 0.508, 0.508)
    chip(report, "sweep").click()
    assert counts(report, "A") == (A_READS, 0, THREADS)
    assert counts(report, "B") == (0, B_WRITES, THREADS)
    assert report.drawn("canvas.accesses", 0.508, 0.508)


def test_the_address_keeps_the_phases(report: Opened) -> None:
    chip(report, "sweep").click()
    report.page.wait_for_url("**phases=2**")
    report.page.reload()
    report.page.wait_for_selector("html[data-ready=yes]")
    assert pressed(report) == ["sweep"]
    assert counts(report, "A") == (A_READS, 0, THREADS)


@pytest.mark.parametrize("key", ["Shift", "Control"])
def test_shift_and_control_add(report: Opened, key: Literal["Shift", "Control"]) -> None:
    chip(report, "outside").click()
    chip(report, "sweep").click(modifiers=[key])
    assert pressed(report) == ["outside", "sweep"]
    chip(report, "outside").click(modifiers=[key])
    assert pressed(report) == ["sweep"]


def test_all_shows_the_whole_run_again(report: Opened) -> None:
    every = report.page.locator(".phases-bar").get_by_role("button", name="all", exact=True)
    assert every.is_disabled()
    chip(report, "fill").click()
    every.click()
    assert pressed(report) == []
    assert counts(report, "A") == (A_READS, A_WRITES, THREADS)


def test_dragging_over_the_time_line_chooses_what_ran_then(report: Opened) -> None:
    box = report.page.locator(".timeline-plot").bounding_box()
    assert box
    y = box["y"] + box["height"] / 2

    def at(milliseconds: float) -> float:  # the run ends at 70 ms
        return float(box["x"] + box["width"] * milliseconds / 70)

    report.page.mouse.move(at(42), y)
    report.page.mouse.down()
    report.page.mouse.move(at(68), y, steps=3)
    report.page.mouse.up()
    assert pressed(report) == ["sweep"]
    report.page.mouse.move(at(12), y)
    report.page.mouse.down()
    report.page.mouse.move(at(25), y, steps=3)
    report.page.mouse.up()
    assert pressed(report) == ["fill", "sweep"]
    report.page.mouse.click(at(15), y)
    assert pressed(report) == ["fill"]


def test_the_time_line_shows_which_phase_ran(report: Opened) -> None:
    canvas = ".timeline-plot canvas"
    sweeps = [report.pixel(canvas, milliseconds / 70, 0.5) for milliseconds in (25, 45, 65)]
    assert len(set(sweeps)) == 1
    assert report.pixel(canvas, 15 / 70, 0.5) != sweeps[0]
    assert not report.drawn(canvas, 35 / 70, 0.5)  # between two sweeps
    chip(report, "fill").click()
    assert report.pixel(canvas, 45 / 70, 0.5)[3] < 100


def test_phases_are_chosen_with_keys(report: Opened) -> None:
    chip(report, "outside").focus()
    report.page.keyboard.press("ArrowRight")
    report.page.keyboard.press("Enter")
    assert pressed(report) == ["fill"]
    report.page.keyboard.press("End")
    report.page.keyboard.press("Shift+Enter")
    assert pressed(report) == ["fill", "sweep"]


def test_the_end_of_the_page_is_not_covered(report: Opened) -> None:
    report.page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    footer = report.page.locator("footer").bounding_box()
    bar = report.page.locator(".phases-bar").bounding_box()
    assert footer
    assert bar
    assert footer["y"] + footer["height"] <= bar["y"]


@pytest.mark.parametrize("width", [1024, 3840])
def test_many_phases_fit(open_report: Open, width: int) -> None:
    page = open_report("many-phases", width=width).page
    assert page.locator(".phase").count() == 64
    bar = page.locator(".phases-bar").bounding_box()
    assert bar
    assert bar["height"] < 120
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_all_phases_are_on_paper(open_pattern: Open) -> None:
    page = open_pattern(heat(), width=390).page
    page.emulate_media(media="print")
    settle(page)
    phases = page.locator(".phase-list")
    assert phases.evaluate("list => list.scrollWidth - list.clientWidth") <= 0
