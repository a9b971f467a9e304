# SPDX-License-Identifier: Apache-2.0
"""The page of the experiment with the page cache: curves, and one size of the file in numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.accessibility import faults_on_paper, faults_on_screen, on_each_screen
from browser.opened import Open, saved_numbers, settle
from numascape.report.experiment import Experiment, render_experiment
from synthetic.page_cache import GIB, page_cache_results

HOSTILE = "<script>window.pwned=1</script>"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("experiment") / "cache.html"
    done = Experiment(page_cache_results(), 4 * GIB, 2, processes=False, notes=[HOSTILE])
    assert render_experiment(done, path) < 1_000_000
    return path


def test_a_size_is_chosen_with_keys_and_the_mouse(open_file: Open, file: Path) -> None:
    opened = open_file(file)
    page = opened.page
    assert "With a file of 4 GiB" in page.locator(".conclusion").inner_text()
    assert page.locator(".cautions").inner_text() == HOSTILE
    assert page.locator("#ways").inner_text().replace("\u202f", " ") == "With a file of 4 GiB"

    def rows() -> list[list[str]]:
        texts = page.locator("section[aria-labelledby=ways] tbody tr").all_inner_texts()
        return [text.replace("\u202f", " ").split("\t") for text in texts]

    first, swept = rows()
    assert first[:4] == ["first touch", "600", "580 to 630", "50.0 %"]
    assert "node 0: 4 GiB" in first[-1]
    assert (swept[3], swept[-1].strip()) == ("100 %", "none")
    # The curve of local pages is at half of its height where the file is half of the axis.
    local = page.locator("[aria-labelledby=curves-local] .curve-plot")
    heights = local.locator("circle").evaluate_all(
        "points => points.map(p => +p.getAttribute('cy'))"
    )
    # The names of the sizes are inside of the drawing, also that of the last one.
    drawing, *names = local.evaluate(
        """plot => [plot.querySelector("svg"), ...plot.querySelectorAll("text.tick")]
            .map((element) => element.getBoundingClientRect())
            .map(({ left, right }) => [left, right])"""
    )
    assert all(drawing[0] <= left and right <= drawing[1] for left, right in names)
    top, bottom = heights[4], local.locator("line.grid").first.get_attribute("y1")
    assert heights[2] == pytest.approx((top + float(bottom or 0)) / 2)
    local.focus()
    page.keyboard.press("ArrowRight")
    assert rows()[0][3] == "62.5 %"
    page.wait_for_url("**#v=1&structure=3")
    box = local.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + 100)
    assert page.locator("#ways").inner_text().replace("\u202f", " ") == "With a file of 2 GiB"
    lines = saved_numbers(page, "Save: Measurements")
    assert lines[0].startswith("file_bytes,way,mflops_median")
    assert len(lines) == 1 + 8
    assert page.evaluate("window.pwned") is None
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


@on_each_screen
def test_it_is_readable_on_every_screen(
    open_file: Open, file: Path, width: int, theme: str
) -> None:
    assert faults_on_screen(open_file, file, width, theme) == []


def test_curves_are_drawn_for_the_width_of_the_paper(open_file: Open, file: Path) -> None:
    page = open_file(file, width=1920).page
    page.evaluate(
        """() => {
            window.widths = [];
            const svg = document.querySelector(".curve-plot svg");
            const note = () => window.widths.push(Number(svg.getAttribute("width")));
            new MutationObserver(note).observe(svg, { attributes: true });
        }"""
    )
    page.pdf(format="A4")
    assert min(page.evaluate("window.widths")) < 800


def test_it_is_printed_in_grey(open_file: Open, file: Path) -> None:
    page = open_file(file).page
    page.emulate_media(media="print")
    settle(page)
    for stroke in page.locator(".curve-plot polyline").evaluate_all(
        "lines => lines.map((line) => getComputedStyle(line).stroke)"
    ):
        red, green, blue = stroke.strip("rgb()").split(", ")
        assert red == green == blue
    assert not page.locator(".save-menu").first.is_visible()
    assert faults_on_paper(page) == []
