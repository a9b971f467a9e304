# SPDX-License-Identifier: Apache-2.0
"""Saving from the page: pictures, drawings, numbers, links, prints."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from browser.opened import Open, Opened
from synthetic.pattern import Pattern
from synthetic.patterns import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
FIGURE = re.compile("Save: Accesses and first touches")
SAVES = re.compile("^Save: ")


def save(page: Page, figure: re.Pattern[str], choice: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=figure).first.click()
        page.get_by_role("button", name=choice).locator("visible=true").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def table(file: Path) -> list[dict[str, str]]:
    text = file.read_bytes().decode("utf-8-sig")
    assert text.count("\r\n") >= 2
    return list(csv.DictReader(io.StringIO(text, newline="")))


def texts(drawing: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(drawing).iter(f"{SVG}text")]


def test_a_figure_is_saved_as_a_drawing(open_report: Open, tmp_path: Path) -> None:
    report = open_report("matmul-block", address="#v=1&structure=2&order=node")
    file = save(report.page, FIGURE, "Drawing (SVG)", tmp_path)
    assert file.name == "matmul-Accesses-and-first-touches-of-C.svg"
    found = texts(file)
    assert found[0] == "Accesses and first touches of C"
    for text in ("Access distribution", "First touch", "node 3", "page", "average", "none"):
        assert text in found
    assert "Save" not in found
    root = ElementTree.parse(file).getroot()
    images = [image.get("href") or "" for image in root.iter(f"{SVG}image")]
    assert len(images) == 6  # the scale, the column averages, two maps with their bars
    assert all(image.startswith("data:image/png;base64,") for image in images)
    assert report.requests == [report.file.as_uri()]
    assert report.complaints == []


def test_a_figure_is_saved_as_a_picture_of_twice_the_size(
    open_report: Open, tmp_path: Path
) -> None:
    report = open_report("matmul-block", address="#v=1&structure=2")
    drawing = ElementTree.parse(save(report.page, FIGURE, "Drawing (SVG)", tmp_path)).getroot()
    with Image.open(save(report.page, FIGURE, "Picture (PNG)", tmp_path)) as picture:
        assert picture.size == (2 * int(drawing.get("width", 0)), 2 * int(drawing.get("height", 0)))
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    # The heat map is the largest image in the drawing.
    maps = sorted(drawing.iter(f"{SVG}image"), key=lambda i: -area(i))
    x, y, width, height = (float(maps[0].get(key, 0)) for key in ("x", "y", "width", "height"))
    inside = pixels[int(2 * y) : int(2 * (y + height)), int(2 * x) : int(2 * (x + width))]

    def dark(across: float, down: float) -> bool:
        r, g, b = inside[int(down * len(inside)), int(across * inside.shape[1])]
        return bool(r + g + b < 400)

    for thread in (0, 20, 40, 63):
        for other in (0, 20, 40, 63):
            assert dark((other + 0.5) / 64, (thread + 0.5) / 64) == (thread == other)


def area(image: ElementTree.Element) -> float:
    return float(image.get("width", 0)) * float(image.get("height", 0))


def test_every_figure_can_be_saved(open_report: Open, tmp_path: Path) -> None:
    report = open_report("seismic-serial")
    page = report.page
    names = [
        b.get_attribute("aria-label") or "" for b in page.get_by_role("button", name=SAVES).all()
    ]
    assert len(names) >= 3
    for name in names:
        figure = re.compile(re.escape(name))
        page.get_by_role("button", name=figure).first.click()
        choices = page.locator(".save-menu .choices:not([hidden]) button").all_inner_texts()
        page.keyboard.press("Escape")
        if "Drawing (SVG)" in choices:
            ElementTree.parse(save(page, figure, "Drawing (SVG)", tmp_path))
        if "Numbers (CSV)" in choices:
            assert table(save(page, figure, "Numbers (CSV)", tmp_path))
    assert report.complaints == []


def test_numbers_are_exact_and_add_up(open_report: Open, tmp_path: Path) -> None:
    report = open_report("matmul-naive", address="#v=1&structure=1&order=sharing")
    cells = table(save(report.page, FIGURE, "Numbers (CSV)", tmp_path))
    report.page.get_by_text("The same as a table, by thread").click()
    threads = table(save(report.page, re.compile("Save: Threads of B"), "Numbers (CSV)", tmp_path))
    assert len(threads) == 64
    reads = 512 // 64 * 1024 * 2048
    assert {row["reads"] for row in threads if row["thread"] != "0"} == {str(reads)}
    for name in ("reads", "writes", "pages_first_touched"):
        assert sum(int(row[name]) for row in cells) == sum(int(row[name]) for row in threads)
    assert [row["thread"] for row in threads[1:]]


def test_hostile_names_are_saved_as_text(open_report: Open, tmp_path: Path) -> None:
    report = open_report("hostile")
    page = report.page
    for i in range(len(HOSTILE)):
        page.locator("table.structures .name").nth(i).click()
        drawing = save(page, FIGURE, "Drawing (SVG)", tmp_path)
        assert len(drawing.name) < 200
        root = ElementTree.parse(drawing).getroot()
        allowed = {"svg", "rect", "text", "line", "image", "linearGradient", "stop"}
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
        assert table(save(page, FIGURE, "Numbers (CSV)", tmp_path))[0]["structure"]
    assert page.evaluate("window.pwned") is None
    assert report.complaints == []
    assert report.requests == [report.file.as_uri()]


def formulas() -> Pattern:
    pattern = Pattern("p", 1)
    for name in ('=HYPERLINK("http://example.invalid","x")', "+1", "-1+2", "@SUM(A1)", 'a,b"c'):
        s = pattern.structure(name, 1)
        pattern.access(s, np.array([0]), np.array([0]), 100, 0)
        pattern.touch(s, np.array([0]), 0)
    return pattern


def test_spreadsheets_do_not_run_names(open_pattern: Open, tmp_path: Path) -> None:
    page = open_pattern(formulas()).page
    rows = table(save(page, re.compile("Save: Structures"), "Numbers (CSV)", tmp_path))
    names = [next(iter(value for value in row.values() if value[:1] in "'a")) for row in rows]
    assert sorted(names) == sorted(
        ['\'=HYPERLINK("http://example.invalid","x")', "'+1", "'-1+2", "'@SUM(A1)", 'a,b"c']
    )


def test_the_link_restores_the_view(open_report: Open) -> None:
    report = open_report("matmul-block", permissions=["clipboard-read", "clipboard-write"])
    report.choose("C")
    page = report.page
    page.get_by_label("by node", exact=True).check(force=True)
    page.locator(".figures").focus()
    page.keyboard.press("+")
    page.get_by_role("button", name=FIGURE).click()
    page.get_by_role("button", name="Copy link").locator("visible=true").click()
    page.get_by_text("Link copied.").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(
        re.escape(report.file.as_uri()) + r"#v=1&structure=2&view=[\d.,]+&order=node", link
    )


def test_the_menu_is_reached_and_left_with_keys(open_report: Open) -> None:
    page = open_report("matmul-block").page
    button = page.get_by_role("button", name=FIGURE)
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Picture (PNG)"
    page.keyboard.press("Escape")
    assert button.get_attribute("aria-expanded") == "false"
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"


def printed(report: Opened) -> None:
    report.page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    report.page.emulate_media(media="print")
    report.page.wait_for_function("() => document.documentElement.dataset.theme === 'grey'")


def test_paper_is_grey_and_has_every_strip(open_report: Open) -> None:
    report = open_report("seismic-serial", address="#v=1&theme=dark")
    printed(report)
    page = report.page
    coloured = page.evaluate("""() => [...document.querySelectorAll("main canvas")].map((map) => {
        const { data } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
        let [drawn, coloured] = [0, 0];
        for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] === 0) continue;
            drawn++;
            const [r, g, b] = data.subarray(i, i + 3);
            if (Math.max(r, g, b) - Math.min(r, g, b) > 6) coloured++;
        }
        return [drawn > 0, coloured];
    })""")
    assert len(coloured) > 15
    assert all(drawn for drawn, _ in coloured)
    assert sum(count for _, count in coloured) == 0
    assert not page.locator(".toolbar:visible").count()
    page.emulate_media(media="screen")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")


@pytest.mark.parametrize("theme", ["light", "grey"])
def test_a_pdf_has_all_pages(open_report: Open, theme: str) -> None:
    page = open_report("seismic-serial", address=f"#v=1&theme={theme}").page
    pdf = page.pdf(format="A4")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12
