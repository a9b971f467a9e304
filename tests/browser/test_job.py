# SPDX-License-Identifier: Apache-2.0
"""The page of a job: classes, the heat map, and the pages of its ranks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from browser.accessibility import faults_on_paper, faults_on_screen
from browser.opened import PATIENCE_MS, Open, Opened, saved_numbers, settle
from numascape.jobs.job import AnalysedJob, analyse_job
from numascape.report.job_file import render_job
from numascape.view.job_site import JobSite
from numascape.view.server import serving_page
from synthetic.job import rank_pattern, write_job, write_rank

SIZE = 24
OUTLIER = 17
HOSTILE = "<script>window.pwned=1</script>"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> AnalysedJob:
    """A job in which one rank does 4 times the work, and another has one more structure."""
    folder = write_job(tmp_path_factory.mktemp("job") / "run.numascape", SIZE, pages=32)
    busy = rank_pattern(OUTLIER, SIZE, pages=32, work=4)
    write_rank(folder, OUTLIER, SIZE, busy, exit_status=139)
    other = rank_pattern(5, SIZE, pages=32)
    other.structure(HOSTILE, 1)
    other.access(len(other.structures) - 1, np.array(0), 0, 1_000_000, 0)
    write_rank(folder, 5, SIZE, other)
    return analyse_job(folder)


@pytest.fixture(scope="module")
def file(job: AnalysedJob) -> Path:
    path = job.path.with_suffix(".html")
    size, own = render_job(job, path)
    assert size < 1_000_000
    assert own == [0, 5, OUTLIER]
    return path


@pytest.fixture
def opened(open_file: Open, file: Path) -> Opened:
    return open_file(file)


def text_of(page: Page, selector: str) -> str:
    return page.locator(selector).first.inner_text().replace("\u202f", " ").replace("\u2013", "-")


def test_the_page_shows_findings_classes_and_outliers(opened: Opened) -> None:
    page = opened.page
    card = text_of(page, ".card")
    assert text_of(page, ".conclusion").startswith(
        "1 finding: first touch by one rank (window.turing.77). "
    )
    assert "window.turing.77" in page.locator(".rank-names span").all_inner_texts()
    for part in ("first touch by one rank", "window.turing.77", "24 ranks of turing share it"):
        assert part in card
    cause, fix = (page.locator(".card dd").nth(number).bounding_box() for number in (1, 2))
    assert cause is not None
    assert fix is not None
    assert cause["y"] == fix["y"]
    assert abs(cause["width"] - fix["width"]) < 1
    assert "22\t0-4, 6-16, 18-23\trank 0" in text_of(page, "section[aria-labelledby=classes] tbody")
    outliers = page.locator("ul.outliers li").all_inner_texts()
    assert any(text.startswith("rank 17: 3") and "times the accesses" in text for text in outliers)
    assert any(text.startswith("rank 5: ") and HOSTILE in text for text in outliers)
    assert "rank 17: ended with status 139 (signal 11)" in text_of(page, ".job-notes")
    places = page.locator("section[aria-labelledby=places] tbody tr").all_inner_texts()
    assert places[0].split("\t")[:4] == ["turing", "0", "16", "64"]
    assert places[1].split("\t")[:4] == ["turing", "1", "8", "32"]
    assert page.evaluate("window.pwned") is None
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


def test_the_heat_map_shows_the_busy_rank(opened: Opened) -> None:
    canvas = "canvas.rank-cells"
    at = [(rank + 0.5) / SIZE for rank in (0, 1, OUTLIER)]
    first, second, busy = (opened.pixel(canvas, x, 0.1) for x in at)
    assert first == second != busy
    rows = opened.page.locator(".rank-names span").all_inner_texts()
    y = (rows.index(HOSTILE) + 0.5) / len(rows)
    assert opened.drawn(canvas, 5.5 / SIZE, y)
    assert not opened.drawn(canvas, 6.5 / SIZE, y)
    opened.page.get_by_label("class", exact=True).check(force=True)
    settle(opened.page)
    assert opened.pixel(canvas, at[2], 0.1) == first
    assert opened.page.locator(".rank-axis").inner_text().endswith("rank 17")


def test_keys_move_the_cell_and_open_its_rank(opened: Opened) -> None:
    page = opened.page
    page.locator(".rank-plot").focus()
    page.keyboard.press("End")
    for _ in range(SIZE - 1 - OUTLIER):
        page.keyboard.press("ArrowLeft")
    said = text_of(page, ".rank-cell")
    assert said.startswith("rank 17, ")
    assert "an outlier; ended with status 139" in said
    page.keyboard.press("Enter")
    page.locator("#structure-name").wait_for()
    assert "rank 17" in text_of(page, ".back")
    page.get_by_label("dark").check(force=True)
    page.wait_for_url("**#v=1&rank=17&structure=*&theme=dark")
    page.reload()
    assert "rank 17" in text_of(page, ".back")
    page.locator(".back a").click()
    page.locator(".rank-plot").wait_for()
    assert opened.complaints == []


def test_a_rank_without_page_is_no_link(opened: Opened) -> None:
    page = opened.page
    page.locator(".rank-plot").focus()
    page.keyboard.press("ArrowRight")
    assert text_of(page, ".rank-cell").startswith("rank 1, ")
    assert page.locator(".rank-cell a").count() == 0
    assert "numascape view run.numascape" in text_of(page, "section[aria-labelledby=classes] .how")


def test_the_address_keeps_what_is_shown(open_file: Open, file: Path) -> None:
    page = open_file(file, address="#v=1&cells=remote&columns=class&theme=dark").page
    assert page.get_by_label("remote share").is_checked()
    assert page.get_by_label("class", exact=True).is_checked()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.get_by_label("relative to the mean").check(force=True)
    page.wait_for_url("**cells=relative&columns=class")


def test_numbers_and_pictures_are_saved(opened: Opened) -> None:
    page = opened.page
    lines = saved_numbers(page, "Save: Ranks and structures")
    assert lines[0].startswith("rank,host,class,structure,kind,accesses")
    assert len(lines) == 1 + 3 * SIZE + 1
    page.get_by_label("Save: Ranks and structures").click()
    with page.expect_download() as svg:
        page.get_by_text("Drawing (SVG)").locator("visible=true").click()
    drawing = Path(svg.value.path()).read_text()
    assert "field0" in drawing
    assert "<image" in drawing


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_readable_on_every_screen(
    open_file: Open, file: Path, width: int, theme: str
) -> None:
    assert faults_on_screen(open_file, file, width, theme) == []


def test_it_is_printed_in_grey(opened: Opened) -> None:
    opened.page.emulate_media(media="print")
    settle(opened.page)
    red, green, blue, _ = opened.pixel("canvas.rank-cells", 0.5 / SIZE, 0.1)
    assert max(red, green, blue) - min(red, green, blue) <= 4
    assert not opened.page.locator(".rank-cell").is_visible()
    assert faults_on_paper(opened.page) == []


def test_the_heat_map_fits_on_one_sheet(
    open_file: Open, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("structures") / "run.numascape"
    path = folder.with_suffix(".html")
    render_job(analyse_job(write_job(folder, 2, pages=4, fields=50)), path)
    page = open_file(path, width=720).page
    page.emulate_media(media="print")
    settle(page)
    plot, names = (
        page.locator(selector).bounding_box() for selector in (".rank-plot", ".rank-names")
    )
    assert plot is not None
    assert names is not None
    assert plot["height"] == pytest.approx(names["height"], abs=1)
    assert page.locator(".rank-names span").count() > 40
    assert plot["height"] <= 800


@pytest.fixture
def served(browser: Browser, job: AnalysedJob) -> Iterator[Page]:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    with serving_page(JobSite(job)) as address:
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        yield page
    page.close()


def test_view_fetches_the_page_of_any_rank(served: Page) -> None:
    served.locator(".rank-plot").focus()
    served.keyboard.press("ArrowRight")
    served.locator(".rank-cell a").click()
    served.locator("#structure-name").wait_for()
    assert "rank 1" in text_of(served, ".back")
    served.locator(".back a").click()
    served.locator(".rank-plot").wait_for()
    for path, status in (("rank/24/", 404), ("rank/1/other", 404), ("rank/01/", 404)):
        answer = served.request.get(served.url.split("#")[0] + path)
        assert answer.status == status
