# SPDX-License-Identifier: Apache-2.0
"""The page of two runs: the verdict, what changed in each structure, and both sides' figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from browser.accessibility import faults_on_paper, faults_on_screen, on_each_screen
from browser.opened import PATIENCE_MS, Open, Opened, saved_numbers, settle
from numascape.comparison import compare_traces
from numascape.comparison.conclusion import conclusion
from numascape.comparison.page import render_comparison
from numascape.comparison.site import ComparisonSite
from numascape.trace import Trace
from numascape.view.server import serving_page
from synthetic.pattern import Pattern
from synthetic.write import write_pattern

HOSTILE = "<script>window.pwned=1</script>"
PAGES = 8192
Traces = tuple[Trace, Trace]


def run(threads: int, pages: int, cured: bool) -> Pattern:
    """Each thread uses its part of `field`; in A, thread 0 touches it first, in B each its part."""
    pattern = Pattern("solver", threads, ["--steps", "9"])
    pattern.placed_by_first_touch = True
    page = np.arange(pages)
    owner = page * threads // pages
    field = pattern.structure("field", pages, line=47 if cured else 40)
    pattern.access(field, page, owner, 3_000_000, 1_000_000)
    pattern.touch(field, page, owner if cured else 0)
    table = pattern.structure("table", 16, line=41)
    pattern.access(table, np.arange(16), 0, 800_000 if cured else 400_000_000, 0)
    pattern.touch(table, np.arange(16), 0)
    alone = pattern.structure("came" if cured else HOSTILE, 16, line=42)
    pattern.access(alone, np.arange(16), 1, 900_000_000, 0)
    pattern.touch(alone, np.arange(16), 1)
    return pattern


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    """A: 32 threads on 2 nodes; B: 48 threads on 3 nodes, and half more pages."""
    folder = tmp_path_factory.mktemp("compared")
    return (
        write_pattern(run(32, PAGES, cured=False), folder / "serial.numascape"),
        write_pattern(run(48, PAGES * 3 // 2, cured=True), folder / "cured.numascape"),
    )


@pytest.fixture(scope="module")
def file(traces: Traces) -> Path:
    path = traces[0].path.with_suffix(".html")
    assert render_comparison(compare_traces(*traces), traces, path) < 1_000_000
    return path


@pytest.fixture
def opened(open_file: Open, file: Path) -> Opened:
    return open_file(file)


def text_of(page: Page, selector: str) -> str:
    return page.locator(selector).first.inner_text().replace("\u202f", " ")


def test_the_verdict_is_the_sentence_of_compare(opened: Opened, traces: Traces) -> None:
    page = opened.page
    comparison = compare_traces(*traces)
    assert text_of(page, ".conclusion") == conclusion(comparison).replace("\u202f", " ")
    assert "32 threads, the second one 48 threads" in text_of(page, ".cautions")
    gone = text_of(page, "section[aria-label='Gone: only in A']")
    assert "serial first touch" in gone
    assert "field" in gone
    assert text_of(page, "section[aria-label='New: only in B']").endswith("none")
    assert page.evaluate("window.pwned") is None
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


def test_the_table_has_both_runs_and_the_change(opened: Opened) -> None:
    page = opened.page
    rows = page.locator("table.changes tbody tr")
    assert [text.split("\n")[0] for text in rows.all_inner_texts()] == [
        "field", HOSTILE, "came", "table",
    ]  # fmt: skip
    cells = [cell.replace("\u202f", " ") for cell in rows.nth(0).locator("td").all_inner_texts()]
    assert cells[3:5] == ["96.9 %\n0 %", "\u221296.9"]
    assert "only in A" in text_of(page, "tr:has-text('pwned') .origin")
    assert "not in B" in text_of(page, "tr:has-text('pwned') .strip")
    page.get_by_role("button", name="Name").click()
    assert opened.names()[-1] == "table"
    page.wait_for_url("**by=name-up")
    page.get_by_label("Search structures").fill("solver.c came")
    assert opened.names() == ["came"]


def test_the_figures_are_those_of_both_runs_and_their_difference(opened: Opened) -> None:
    """Rows are 48 threads, columns the pages of B; A ends after two thirds."""
    page = opened.page
    a, b = ".pair > div:nth-child(1) canvas", ".pair > div:nth-child(2) canvas"
    assert opened.drawn(f"{a}.accesses", 0.5 / 48, 0.5 / 48)
    assert not opened.drawn(f"{a}.accesses", 0.8, 0.4)
    assert opened.drawn(f"{b}.accesses", 0.8, 38.5 / 48)
    assert opened.drawn(f"{a}.first-touches", 0.6, 0.5 / 48)
    assert not opened.drawn(f"{b}.first-touches", 0.6, 0.5 / 48)
    assert opened.drawn(f"{b}.first-touches", 0.6, 28.5 / 48)
    difference = "canvas.pair-accesses"
    same = opened.pixel(difference, 0.2 / 48, 0.5 / 48)
    more_in_b = opened.pixel(difference, 47.5 / 48, 47.5 / 48)
    assert same[3] == more_in_b[3] == 255
    assert same != more_in_b
    assert not opened.drawn(difference, 0.5, 2.5 / 48)
    more_in_a = opened.pixel("canvas.pair-touches", 0.6, 0.5 / 48)
    assert more_in_a not in (same, more_in_b)
    assert opened.pixel("canvas.pair-touches", 47.5 / 48, 47.5 / 48) == more_in_b
    page.locator(".plot.pair-accesses").hover(position={"x": 1, "y": 2})
    tooltip = text_of(page, ".tooltip")
    assert "A: accesses" in tooltip
    assert "B: first touch" in tooltip


def test_keys_choose_structures_and_zoom(opened: Opened) -> None:
    page = opened.page
    opened.choose("field")
    page.keyboard.press("ArrowDown")
    assert page.locator("#structure-name").inner_text() == HOSTILE
    assert "B has no structure that matches it." in text_of(page, ".missing")
    assert page.locator("canvas.pair-accesses").count() == 0
    opened.choose("field")
    page.locator(".figures").focus()
    page.keyboard.press("+")
    page.keyboard.press("m")
    page.wait_for_url("**view=*measure=reads*")
    page.keyboard.press("0")
    page.keyboard.press("l")
    page.wait_for_url("**measure=reads&scale=log")
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert page.get_by_label("logarithmic").is_checked()
    assert opened.complaints == []


def test_each_run_has_its_report_in_the_file(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("link", name="Open the report of B").click()
    page.locator("section.standing-out").wait_for()
    assert "B: cured.numascape" in text_of(page, ".back")
    page.wait_for_url("**#v=1&run=b")
    page.locator(".back a").click()
    page.locator(".conclusion").wait_for()
    assert opened.complaints == []


def test_numbers_of_both_runs_are_saved(opened: Opened) -> None:
    page = opened.page
    for label, heading in (
        ("Save: Structures of both runs", "name,kind,function,file,line,a_size"),
        ("Save: Both runs: field", "run,structure,first_page,pages"),
    ):
        lines = saved_numbers(page, label)
        assert lines[0].startswith(heading)
        assert len(lines) > 3


def test_the_difference_has_the_title_of_what_it_is_the_difference_of(opened: Opened) -> None:
    titles = opened.page.locator(".pair > div").evaluate_all(
        "columns => columns.map((one) => one.querySelector('h3').innerText)"
    )
    assert len(titles) == 3
    assert len(set(titles)) == 1


def test_two_equal_runs_have_no_difference(traces: Traces, open_file: Open, tmp_path: Path) -> None:
    same, path = (traces[0], traces[0]), tmp_path / "same.html"
    render_comparison(compare_traces(*same), same, path)
    legends = open_file(path).page.locator(".pair ~ * .legend, .difference-scale .legend")
    assert legends.count() >= 2
    assert set(legends.all_inner_texts()) == {"No difference"}


def nearly_equal(reads: int) -> Pattern:
    pattern = Pattern("solver", 2)
    field = pattern.structure("field", 64)
    pattern.access(field, np.arange(64), 0, reads, 0)
    pattern.access(field, np.arange(64), 1, 135_000, 0)
    pattern.touch(field, np.arange(64), 0)
    return pattern


def test_a_small_difference_has_a_weak_colour(open_file: Open, tmp_path: Path) -> None:
    """Thread 0 has 512 accesses per page more in B, beside 135 000 per page in A: 0.4 %."""
    pair = (
        write_pattern(nearly_equal(135_000), tmp_path / "a.numascape"),
        write_pattern(nearly_equal(135_512), tmp_path / "b.numascape"),
    )
    render_comparison(compare_traces(*pair), pair, tmp_path / "nearly.html")
    opened = open_file(tmp_path / "nearly.html")
    legend = text_of(opened.page, ".difference-scale .legend")
    assert "Full colour: 136 k accesses per page" in legend
    assert legend.endswith("largest difference: 512 (0.38 %)")
    for canvas, y in (("canvas.pair-accesses", 0.25), ("canvas.difference", 0.84)):
        assert opened.drawn(canvas, 0.5, y)
        weak, none = opened.pixel(canvas, 0.5, y), (242, 242, 242, 255)
        assert max(abs(a - b) for a, b in zip(weak, none, strict=True)) < 40


def test_legends_have_room_on_paper(open_file: Open, file: Path) -> None:
    page = open_file(file, width=720).page
    page.emulate_media(media="print")
    settle(page)
    hidden = page.locator(".difference-scale").evaluate_all(
        "legends => legends.map((one) => one.scrollHeight - one.clientHeight)"
    )
    assert len(hidden) == 2
    assert max(hidden) <= 0


@on_each_screen
def test_it_is_readable_on_every_screen(
    open_file: Open, file: Path, width: int, theme: str
) -> None:
    assert faults_on_screen(open_file, file, width, theme) == []


def test_it_is_printed_in_grey(opened: Opened) -> None:
    opened.page.emulate_media(media="print")
    settle(opened.page)
    for canvas in ("canvas.pair-touches", "canvas.difference"):
        red, green, blue, alpha = opened.pixel(canvas, 0.6, 0.5 / 48)
        assert alpha == 255
        assert max(red, green, blue) - min(red, green, blue) <= 4
    assert not opened.page.locator(".toolbar").is_visible()
    assert faults_on_paper(opened.page) == []


@pytest.fixture
def served(browser: Browser, traces: Traces) -> Iterator[tuple[Page, list[str]]]:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with serving_page(ComparisonSite(compare_traces(*traces), traces)) as address:
        page.goto(f"{address}#v=1&structure=0&view=4096,4128,0,48")
        page.wait_for_selector("html[data-ready=yes]")
        yield page, asked
    page.close()


def test_view_serves_single_pages_of_both_runs(served: tuple[Page, list[str]]) -> None:
    page, asked = served
    page.get_by_text("A column sums up").wait_for(state="detached")
    assert {url.split("?")[0].rsplit("/", 2)[1] for url in asked if "detail" in url} == {"a", "b"}
    start = page.url.split("#")[0]
    page.get_by_role("link", name="Open the report of A").click()
    page.locator("section.standing-out").wait_for()
    page.locator(".back a").click()
    page.locator(".conclusion").wait_for()
    for path in ("c/", "a", "a/other"):
        assert page.request.get(start + path).status == 404
