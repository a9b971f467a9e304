# SPDX-License-Identifier: Apache-2.0
"""The source lines that use a structure, and their text."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from browser.opened import Open, Opened
from numascape.report import draft, readable_sources, render
from synthetic.heat import heat
from synthetic.write import write_pattern

SOURCE = """\
static double A[N], B[N];  /* </script><script>window.pwned = 1</script> */

void fill(void) {
    for (int i = 0; i < N; i++) A[i] = i;
}

#define OWN(i) (i)
void sweep(void) {
    for (int i = 0; i < N; i++) { double here = A[OWN(i)];
        B[i] = here; }
}
"""


@pytest.fixture
def open_heat(open_file: Open, tmp_path: Path) -> Callable[[bool], Opened]:
    def opened(source: bool) -> Opened:
        file = tmp_path / "heat.c"
        file.write_text(SOURCE)
        os.utime(file, (1000, 1000))  # as old as the recorded program
        trace = write_pattern(heat(str(file)), tmp_path / "heat.numascape")
        page = tmp_path / "heat.html"
        render(draft(trace, readable_sources(trace.info, source)), page)
        report: Opened = open_file(page)
        return report

    return opened


def uses(report: Opened) -> list[str]:
    rows = report.page.locator(".line-uses button").all_inner_texts()
    return [" ".join(row.replace("\u202f", " ").split()) for row in rows]


def test_functions_loops_and_lines_by_share(open_heat: Callable[[bool], Opened]) -> None:
    report = open_heat(True)
    assert uses(report) == [
        "fill heat.c 83.7 %",
        "for loop, line 4 83.7 %",
        "line 4 83.7 %",
        "sweep heat.c 16.3 %",
        "for loop, lines 9\u201310 16.3 %",
        "line 9 16.3 %",
    ]
    report.choose("B")
    assert uses(report)[0] == "sweep heat.c 100 %"


def test_the_text_has_shares_in_its_margin(open_heat: Callable[[bool], Opened]) -> None:
    report = open_heat(True)
    chosen = report.page.locator(".source-frame tr.chosen")
    assert chosen.locator(".text").inner_text() == SOURCE.splitlines()[3]
    assert chosen.locator("td").first.inner_text().replace("\u202f", " ") == "83.7 %"
    report.page.locator(".line-uses button", has_text="lines 9").click()
    assert chosen.locator(".line-number").all_inner_texts() == ["9", "10"]
    assert chosen.locator("td.number").first.inner_text().replace("\u202f", " ") == "16.3 %"


def test_what_is_estimated_is_marked(open_file: Open, tmp_path: Path) -> None:
    pattern = heat(str(tmp_path / "heat.c"))
    (_, _, _, _, _, reads, _) = pattern.lines[1]
    pattern.estimated = [0, reads // 4, 0]
    page = tmp_path / "heat.html"
    render(draft(write_pattern(pattern, tmp_path / "heat.numascape"), None), page)
    report: Opened = open_file(page)
    assert uses(report) == [
        "fill heat.c 83.7 %",
        "line 4 83.7 %",
        "sweep heat.c ≈ 16.3 %",
        "line 9 ≈ 16.3 %",
    ]
    told = report.page.locator(".line-uses button", has_text="line 9").get_attribute("title") or ""
    assert " ".join(told.split()).endswith("25.0 % of them estimated from samples")


def test_source_text_is_shown_not_executed(open_heat: Callable[[bool], Opened]) -> None:
    report = open_heat(True)
    assert report.page.evaluate("window.pwned") is None
    assert SOURCE.splitlines()[0] in report.page.locator(".source-frame .text").all_inner_texts()
    assert report.complaints == []


def test_without_source_there_are_names_and_lines(open_heat: Callable[[bool], Opened]) -> None:
    report = open_heat(False)
    assert uses(report)[:2] == ["fill heat.c 83.7 %", "line 4 83.7 %"]
    assert report.page.locator(".source-frame").count() == 0
    assert "left out" in report.page.locator(".source-lines .how").inner_text()


def test_a_run_without_lines_says_nothing_about_them(open_report: Open) -> None:
    assert open_report("matmul-naive").page.locator(".source-lines").count() == 0


def test_lines_open_in_the_editor_that_the_reader_chooses(
    open_heat: Callable[[bool], Opened], tmp_path: Path
) -> None:
    report = open_heat(True)
    page = report.page
    file = tmp_path / "heat.c"
    link = page.locator(".source-lines .open-in-editor a")
    assert link.get_attribute("href") == f"vscode://file{file}:4"
    page.get_by_label("Editor").select_option("IntelliJ IDEA")
    assert link.get_attribute("href") == f"idea://open?file={file}&line=4"
    line = page.locator(".source-frame .line-number a", has_text="8")
    assert line.get_attribute("href") == f"idea://open?file={file}&line=8"
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert str(link.get_attribute("href")).startswith("idea:")
    assert report.complaints == []
