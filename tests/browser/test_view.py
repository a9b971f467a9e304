# SPDX-License-Identifier: Apache-2.0
"""`numascape view` in the browser: single pages of a structure that the report sums up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page

from browser.opened import PATIENCE_MS, settle
from numascape.report import draft, render
from numascape.trace import Trace
from numascape.view.open import site_of
from numascape.view.server import serving_page
from synthetic.pattern import Pattern
from synthetic.write import write_pattern

PAGES = 100_000
THREADS = 4


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Threads use pages in turn, so only single pages show their user."""
    pattern = Pattern("dealt", THREADS)
    large = pattern.structure("large", PAGES)
    page = np.arange(PAGES)
    pattern.access(large, page, page % THREADS, 100 + page % 1000, page % 7)
    pattern.touch(large, page, (page // 2) % THREADS)
    small = pattern.structure("small", 16)
    pattern.access(small, page[:16], np.array(0), 5, 5)
    folder = tmp_path_factory.mktemp("view")
    return write_pattern(pattern, folder / "dealt.numascape")


Asked = list[str]


@pytest.fixture
def open_served(browser: Browser, trace: Trace) -> Iterator[Callable[[str], tuple[Page, Asked]]]:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(PATIENCE_MS)
    asked: Asked = []
    complaints: list[str] = []
    with serving_page(site_of(trace)) as address:

        def opened(fragment: str) -> tuple[Page, Asked]:
            page = context.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(f"{address}#{fragment}")
            page.wait_for_selector("html[data-ready=yes]")
            return page, asked

        yield opened
        assert complaints == []
        assert [url for url in asked if not url.startswith((address, "data:"))] == []
    context.close()


def test_the_whole_structure_asks_for_nothing(
    open_served: Callable[[str], tuple[Page, Asked]],
) -> None:
    page, asked = open_served("v=1&structure=0")
    assert "Each column sums up 32 pages" in page.locator(".hint").inner_text()
    assert len(asked) == 1
    small, asked = open_served("v=1&structure=1&view=2,4,0,4")
    settle(small)
    assert not any("detail" in url for url in asked)


def test_zooming_shows_single_pages_with_the_traces_numbers(
    open_served: Callable[[str], tuple[Page, Asked]], trace: Trace
) -> None:
    first = 50_000
    page, asked = open_served(f"v=1&structure=0&view={first},{first + 16},0,{THREADS}")
    page.get_by_text("This part shows single pages").wait_for()
    query = parse_qs(urlsplit(next(url for url in asked if "detail" in url)).query)
    assert query["structure"] == ["0"]
    assert int(query["from"][0]) <= first < first + 16 <= int(query["to"][0])
    plot = page.locator(".plot.accesses")
    box = plot.bounding_box()
    assert box
    for number in range(first, first + 16, 5):
        thread = number % THREADS
        x = box["width"] * (number - first + 0.5) / 16
        plot.hover(position={"x": x, "y": box["height"] * (thread + 0.5) / THREADS})
        text = page.locator(".tooltip").inner_text().replace("\u202f", "")
        row = trace.accesses.filter(pl.col("structure") == 0, pl.col("page") == number)
        assert f"Page {number}" in text
        assert text.split("Reads\n")[1].split("\n")[0] == str(row.item(0, "reads"))
        assert text.split("Writes\n")[1].split("\n")[0] == str(row.item(0, "writes"))
        assert "1 thread" in text
        assert f"First touch\nthread {number // 2 % THREADS}" in text


def test_colours_of_single_pages_are_drawn(
    open_served: Callable[[str], tuple[Page, Asked]],
) -> None:
    page, _ = open_served(f"v=1&structure=0&view=50000,50016,0,{THREADS}")
    page.get_by_text("This part shows single pages").wait_for()
    drawn = page.locator("canvas.accesses").evaluate(
        """(canvas, [columns, rows]) => {
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            const at = (part, size) => Math.floor(part * size);
            return Array.from({ length: columns * rows }, (_, i) => {
                const x = at(((i % columns) + 0.5) / columns, width);
                const y = at((Math.floor(i / columns) + 0.5) / rows, height);
                return data[4 * (y * width + x) + 3] > 0;
            });
        }""",
        [16, THREADS],
    )
    expected = [column % THREADS == row for row in range(THREADS) for column in range(16)]
    assert drawn == expected


def test_keys_zoom_to_single_pages_and_back(
    open_served: Callable[[str], tuple[Page, Asked]],
) -> None:
    page, asked = open_served("v=1&structure=0")
    page.locator(".figures").focus()
    for _ in range(12):
        page.keyboard.press("+")
    page.get_by_text("This part shows single pages").wait_for()
    page.keyboard.press("0")
    page.get_by_text("Each column sums up 32 pages").wait_for()
    before = len(asked)
    settle(page)
    assert len(asked) == before


def test_when_the_server_has_ended_the_page_says_so(browser: Browser, trace: Trace) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    with serving_page(site_of(trace)) as address:
        page.goto(f"{address}#v=1&structure=0")
        page.wait_for_selector("html[data-ready=yes]")
    page.locator(".figures").focus()
    for _ in range(12):
        page.keyboard.press("+")
    page.get_by_text("Check that numascape view still runs.").wait_for()
    assert "Each column sums up 32 pages" in page.locator(".hint").inner_text()
    page.close()


def test_a_report_in_a_file_asks_nobody(browser: Browser, trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "dealt.html"
    render(draft(trace), file)
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    asked: Asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{file.as_uri()}#v=1&structure=0&view=50000,50016,0,4")
    page.wait_for_selector("html[data-ready=yes]")
    settle(page)
    assert [url.partition("#")[0] for url in asked] == [file.as_uri()]
    assert "Each column sums up 32 pages" in page.locator(".hint").inner_text()
    page.close()
