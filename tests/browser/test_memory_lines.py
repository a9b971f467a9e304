# SPDX-License-Identifier: Apache-2.0
"""The page of a run with modelled caches counts memory lines or accesses, as selected."""

from __future__ import annotations

import csv
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.opened import Open, Opened

NUMASCAPE = Path(sysconfig.get_path("scripts")) / "numascape"
PROGRAMS = Path(__file__).parents[1] / "integration" / "programs"
LINES, LARGE = 256, 4096  # lines of the arrays, as in programs/traffic.c; the cache has 1024
MAP = "canvas.accesses"


@pytest.fixture(scope="module")
def page_of_lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of programs/traffic.c, recorded with a cache of 64 KiB."""
    folder = tmp_path_factory.mktemp("lines")
    trace, file = folder / "run.numascape", folder / "run.html"
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS"}}
    program = folder / "traffic"
    model = ["--traffic", "--cache", "64K,8,64"]
    commands: list[list[str | Path]] = [
        ["make", "-C", PROGRAMS, f"BUILD={folder}", program],
        [NUMASCAPE, "record", *model, "-o", trace, "--", program],
        [NUMASCAPE, "report", trace, "-o", file],
    ]
    for command in commands:
        subprocess.run(command, check=True, capture_output=True, env=environment)
    return file


def count(page: Page, what: str) -> None:
    page.locator("#structure").get_by_label(what, exact=True).check(force=True)


def numbers(page: Page, name: str) -> tuple[str, str]:
    """The two counts in a structure's row, as exact numbers."""
    row = page.locator("table.structures tbody tr").filter(
        has=page.locator(".name").get_by_text(name, exact=True)
    )
    titles = row.locator("td.number[title]").evaluate_all("cells => cells.map(c => c.title)")
    first, second = (title.replace("\u202f", "") for title in titles)
    return first, second


def headings(page: Page) -> set[str]:
    found = page.locator("table.structures th button").all_inner_texts()
    return {text.strip("↓↑") for text in found}


def opened_at(open_file: Open, file: Path, name: str, address: str = "") -> Opened:
    report = open_file(file, address=f"#v=1&search={name}{address}")
    report.choose(name)
    return report


def test_memory_lines_come_first_and_accesses_on_demand(
    open_file: Open, page_of_lines: Path
) -> None:
    report = opened_at(open_file, page_of_lines, "warm")
    page = report.page
    assert {"From memory", "To memory"} <= headings(page)
    assert numbers(page, "warm") == (str(LINES), "0")
    assert "64 memory lines per page of 4" in page.locator("#structure .legend").inner_text()
    choice = page.get_by_label("What is counted")
    assert "64 KiB each, 8 ways, lines of 64 B" in choice.inner_text().replace("\u202f", " ")
    page.locator(MAP).hover(position={"x": 10, "y": 10})
    assert "64 lines" in page.locator(".tooltip").inner_text()
    count(page, "accesses")
    assert {"Reads", "Writes"} <= headings(page)
    assert numbers(page, "warm") == (str(3 * LINES), "0")
    assert "192 accesses per page of 4" in page.locator("#structure .legend").inner_text()
    page.wait_for_url("**count=accesses*")
    again = open_file(page_of_lines, address=page.evaluate("location.hash")).page
    assert numbers(again, "warm") == (str(3 * LINES), "0")
    assert report.requests == [report.file.as_uri()]
    assert report.complaints == []


def test_lines_from_and_to_memory_are_told_apart(open_file: Open, page_of_lines: Path) -> None:
    report = opened_at(open_file, page_of_lines, "modified")
    assert numbers(report.page, "modified") == (str(LARGE), str(LARGE))
    both = report.pixels(MAP)
    legend = report.page.locator("#structure .legend")
    for key, unit in (("m", "64 lines from memory"), ("m", "64 lines to memory")):
        report.page.locator(".figures").press(key)
        assert unit in legend.inner_text()
    # Every page has the same number of lines in both directions: equal colours, another scale.
    assert report.pixels(MAP) == both
    report.page.locator(".figures").press("n")
    assert "64 writes" in legend.inner_text()


def test_what_a_cache_answers_is_drawn_only_as_accesses(
    open_file: Open, page_of_lines: Path
) -> None:
    report = opened_at(open_file, page_of_lines, "again")
    phases = report.page.locator(".phase")
    for phase, fetched in (("first", True), ("second", False)):
        phases.filter(has_text=phase).click()
        count(report.page, "memory lines")
        assert numbers(report.page, "again")[0] == (str(LINES) if fetched else "0")
        assert report.drawn(MAP, 0.5, 0.02) == fetched
        count(report.page, "accesses")
        assert numbers(report.page, "again")[0] == str(LINES)
        assert report.drawn(MAP, 0.5, 0.02)


def test_saved_numbers_name_what_they_count(
    open_file: Open, page_of_lines: Path, tmp_path: Path
) -> None:
    page = opened_at(open_file, page_of_lines, "steps").page
    page.get_by_role("button", name="Save: Memory lines and first touches of steps").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Numbers (CSV)").locator("visible=true").click()
    download.value.save_as(tmp_path / "steps.csv")
    saved = (tmp_path / "steps.csv").read_text("utf-8-sig")
    rows = list(csv.DictReader(saved.splitlines()))
    found = {int(row["first_page"]): int(row["lines_from_memory"]) for row in rows}
    assert {first: lines for first, lines in found.items() if lines} == {
        first: 4 * first for first in range(1, 16)
    }


def test_without_a_model_of_caches_there_is_no_choice(open_report: Open) -> None:
    page = open_report("seismic-serial", address="#v=1&structure=1&count=accesses").page
    assert page.get_by_text("memory lines").count() == 0
    assert page.get_by_role("group", name="Count", exact=True).count() == 0
    assert {"Reads", "Writes"} <= headings(page)
