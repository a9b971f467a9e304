# SPDX-License-Identifier: Apache-2.0
"""The curves over the time of a run."""

from __future__ import annotations

import pytest

from browser.accessibility import violations
from browser.opened import Open, Opened, saved_numbers, settle
from synthetic.heat import heat


@pytest.fixture
def report(open_pattern: Open) -> Opened:
    opened: Opened = open_pattern(heat())
    return opened


def test_a_run_without_phases_has_no_curves(open_report: Open) -> None:
    assert open_report("matmul-naive").page.locator("section.time").count() == 0


def test_steps_are_told_and_choose_their_phase(report: Opened) -> None:
    page = report.page
    panel = page.locator("section.time")
    assert panel.locator("figcaption").all_inner_texts() == [
        "Accesses per second",
        "Remote accesses, share",
    ]
    plot = panel.get_by_role("group", name="accesses per second").first
    plot.focus()
    page.keyboard.press("End")
    told = panel.locator(".time-told")
    assert "sweep" in told.inner_text()
    assert "remote accesses" in told.inner_text()
    page.keyboard.press("Home")
    before = told.inner_text()
    page.keyboard.press("ArrowRight")
    assert told.inner_text() != before
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    pressed = page.locator(".phase[aria-pressed=true] .phase-name")
    assert pressed.all_inner_texts() == ["sweep"]
    assert report.requests == [report.file.as_uri()]
    assert report.complaints == []


def test_curves_of_a_structure_are_saved(report: Opened) -> None:
    page = report.page
    panel = page.locator("section.time")

    def rows() -> list[list[str]]:
        lines = saved_numbers(page, "Save: Over time")
        return [line.split(",") for line in lines]

    head, *whole = rows()
    assert head[3:] == ["accesses_per_second", "remote_accesses_share"]
    report.choose("B")
    panel.get_by_label("chosen structure").check(force=True)
    _, *of_b = rows()
    rates = [(row[2], float(row[3])) for row in of_b]
    assert {phase for phase, rate in rates if rate > 0} == {"sweep"}
    assert all(float(b[3]) <= float(a[3]) for a, b in zip(whole, of_b, strict=True))


@pytest.mark.parametrize("theme", ["light", "dark", "grey"])
def test_curves_can_be_read_in_each_theme(open_pattern: Open, theme: str) -> None:
    page = open_pattern(heat(), address=f"#v=1&theme={theme}").page
    assert violations(page) == []


def test_paper_has_no_pointer(report: Opened) -> None:
    page = report.page
    page.get_by_role("group", name="accesses per second").first.hover()
    page.emulate_media(media="print")
    settle(page)
    assert not page.locator(".time-told").is_visible()
    assert page.locator(".time-plot path").first.is_visible()
