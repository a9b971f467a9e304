# SPDX-License-Identifier: Apache-2.0
"""The page of a recording that does not distinguish threads shows nothing about them."""

from __future__ import annotations

from browser.opened import Open
from synthetic.patterns import seismic
from synthetic.write import of_all_threads


def test_what_needs_threads_is_left_out(open_pattern: Open) -> None:
    report = open_pattern(of_all_threads(seismic(64, 1)))
    page = report.page
    facts = page.locator("dl.facts dt").all_inner_texts()
    assert "Samples" in facts
    assert "Threads" not in facts
    assert page.locator(".card").count() == 0
    assert "does not show which threads" in page.locator(".not-judged").inner_text()
    for hidden in ("section.sharing", "section.machine", ".counting"):
        assert page.locator(hidden).count() == 0
    headings = page.locator("table.structures th").all_inner_texts()
    names = [text.strip("\u2193\u2191 ") for text in headings[:6]]
    assert names == ["Name", "Pages", "Size", "Samples", "Share", "Pattern"]
    titles = page.locator("h2, h3, .toolbar legend").all_inner_texts()
    assert "Access distribution" in titles
    for title in ("First touch", "Who reads, who writes", "Threads"):
        assert title not in titles
    assert "threads" not in page.locator("section[aria-labelledby=structures] .how").inner_text()
    assert page.locator("canvas.accesses").count() > 0
    assert report.complaints == []
