# SPDX-License-Identifier: Apache-2.0
"""The page of a recording of page faults shows first touches, and nothing that needs accesses."""

from __future__ import annotations

import pytest

from browser.opened import Open
from numascape.report import findings
from synthetic.patterns import seismic
from synthetic.write import touches_alone

THREADS = 16


def test_first_touches_alone_are_shown_as_such(open_pattern: Open) -> None:
    pattern = touches_alone(seismic(640, THREADS))
    report = open_pattern(pattern, address="#v=1&order=sharing&measure=reads&count=accesses")
    page = report.page
    card = page.locator(".card").first.inner_text()
    assert "first touch by one thread" in card
    assert "of touched pages" in card
    assert "does not show which threads used these pages later" in card
    open_ = page.locator(".not-judged").inner_text()
    assert "These findings need counts of accesses: serial first touch;" in open_
    headings = page.locator("table.structures th").all_inner_texts()
    names = {text.strip("\u2193\u2191 ") for text in headings}
    assert {"Share of pages", "Touched by", "Pages, by first touching thread"} <= names
    assert not names & {"Reads", "Writes", "Remote", "From memory"}
    for hidden in ("section.sharing", "section.machine", "canvas.accesses", "#read-write"):
        assert page.locator(hidden).count() == 0
    assert report.complaints == []
    report.choose("grid->vx")
    first = "canvas.first-touches"
    assert all(report.drawn(first, x / 10, 0.5 / THREADS) for x in range(1, 10))
    assert not any(report.drawn(first, 0.5, (t + 0.5) / THREADS) for t in range(1, THREADS))
    page.locator(first).hover()
    told = page.locator(".tooltip").inner_text()
    assert "thread 0" in told
    assert "Reads" not in told


def test_code_in_a_cause_is_shown_as_code(
    open_pattern: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "short_printable", lambda text: f"{text} It depends on `block`.")
    page = open_pattern(touches_alone(seismic(640, THREADS))).page
    cause = page.locator(".card dd").first
    assert cause.inner_text().endswith("It depends on block.")
    assert cause.locator("code").last.inner_text() == "block"
