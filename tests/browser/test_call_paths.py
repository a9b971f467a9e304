# SPDX-License-Identifier: Apache-2.0
"""The flame graphs of the calls that allocated memory, and of the code that accesses it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.accessibility import violations
from browser.opened import Open, saved_numbers, settle
from numascape.report import draft, render
from synthetic.patterns import HOSTILE, seismic
from synthetic.write import write_pattern


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stencil whose arrays are allocated by a function that main calls; one name is hostile."""
    folder = tmp_path_factory.mktemp("paths")
    pattern = seismic(600, 8)
    pattern.used_at(0, "sweep", 41, 300, 100)
    pattern.used_at(1, "sweep", 42, 50, 0)
    pattern.used_at(1, HOSTILE[0], 7, 50, 0)
    pattern.structures[1]["call_stack"] = [f"{HOSTILE[0]} (evil.c:1)", "main (seismic.c:300)"]
    path = folder / "paths.html"
    render(draft(write_pattern(pattern, folder / "paths.numascape")), path)
    return path


def test_frames_are_walked_enlarged_and_searched(open_file: Open, file: Path) -> None:
    opened = open_file(file)
    page = opened.page
    panel = page.locator(".call-paths")
    told = panel.locator(".flame-told")

    def width(name: str) -> float:
        box = panel.locator(".flame-frame").filter(has_text=name).first.bounding_box()
        assert box
        return box["width"]

    whole = width("main (seismic.c:300)")
    first = panel.locator(".frame-structure.flame-frame").first
    assert width(first.inner_text()) < whole / 2
    panel.locator(".flame").focus()
    page.keyboard.press("ArrowDown")
    assert told.inner_text().startswith("main (seismic.c:300): ")
    page.keyboard.press("ArrowDown")
    called = told.inner_text().split(" (")[0]
    page.keyboard.press("Enter")
    assert width(called) == pytest.approx(width("main (seismic.c:300)"), abs=2)
    page.keyboard.press("Escape")
    assert width(called) < whole / 2
    panel.get_by_label("Search call paths").fill("main")
    match = panel.locator("[role=status]").get_by_text("match").inner_text().replace("\u202f", " ")
    share = width("main (seismic.c:300)") / width("seismic")
    assert float(match.split(" %")[0].strip(">< ")) == pytest.approx(100 * share, abs=1)
    assert page.evaluate("window.pwned") is None
    assert panel.locator("i, img, script").count() == 0
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


def test_a_structure_is_chosen_and_first_touches_have_places(open_file: Open, file: Path) -> None:
    page = open_file(file).page
    panel = page.locator(".call-paths")
    second = panel.locator(".frame-structure.flame-frame").nth(1)
    name = second.inner_text()
    assert page.locator("tr[aria-selected=true] .name").inner_text() != name
    second.click()
    assert page.locator("tr[aria-selected=true] .name").inner_text() == name
    panel.get_by_label("chosen structure").check(force=True)
    assert panel.locator(".frame-structure.flame-frame").all_inner_texts() == [name]
    assert panel.locator(".frame-place.flame-frame").count() == 0
    panel.get_by_label("first touches").check(force=True)
    assert panel.locator(".frame-place.flame-frame").count() > 0
    lines = saved_numbers(page, "Save: Call paths of allocations")
    assert lines[0] == "path,kind,first_touches"
    assert len(lines) == 1 + panel.locator(".flame-frame").count()


def test_functions_have_lines_and_the_structures_that_they_access(
    open_file: Open, file: Path
) -> None:
    opened = open_file(file)
    page = opened.page
    panel = page.locator(".call-paths")
    panel.get_by_label("accessing functions").check(force=True)
    assert panel.get_by_role("heading").first.inner_text() == "Functions that access memory"
    names = panel.locator(".flame-frame").all_inner_texts()
    assert names[:4] == ["seismic", "sweep (seismic.c)", "line 41", "grid->vx"]
    assert names[4:6] == ["line 42", "grid->vy"]
    panel.locator(".flame").focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    told = panel.locator(".flame-told").inner_text().replace("\u202f", " ")
    assert told == "line 42: 10.0 % (50 accesses)"
    page.keyboard.press("Enter")
    assert panel.locator(".flame-frame", has_text="line 41").count() == 0
    panel.locator(".frame-structure.flame-frame").click()
    assert page.locator("tr[aria-selected=true] .name").inner_text() == "grid->vy"
    assert page.evaluate("window.pwned") is None
    assert opened.complaints == []


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same stencil, with the calls of samples in two phases; one name is hostile."""
    folder = tmp_path_factory.mktemp("sampled")
    pattern = seismic(600, 32)
    pattern.phase("outside")
    later = pattern.phase("later", 9)
    main = pattern.call("main", 300)
    often = pattern.call("often", 40, main)
    for structure, thread, caller, reads, phase in (
        (0, 0, often, 90, 0),
        (1, 20, main, 10, 0),
        (1, 20, often, 5, later),
    ):
        sweep = pattern.call("sweep", 41 + structure, caller)
        pattern.sample(structure, 0, thread, sweep, reads, phase=phase)
    pattern.sample(1, 0, 20, pattern.call(HOSTILE[0], 7, pattern.unknown_callers()), 15)
    path = folder / "sampled.html"
    render(draft(write_pattern(pattern, folder / "sampled.numascape")), path)
    return path


def test_accesses_have_the_calls_that_led_to_them(open_file: Open, sampled: Path) -> None:
    opened = open_file(sampled)
    page = opened.page
    panel = page.locator(".call-paths")
    assert panel.get_by_role("heading").first.inner_text() == "Call paths of accesses"
    names = panel.locator(".flame-frame").all_inner_texts()
    assert names[:5] == [
        *("seismic", "main (seismic.c)", "often (seismic.c)", "sweep (seismic.c)"),
        "line 41",
    ]
    told = panel.locator(".flame-told")
    panel.locator(".flame").focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    assert told.inner_text().replace("\u202f", " ") == "often (seismic.c): 79.2 % (95 accesses)"
    panel.get_by_label("remote accesses").check(force=True)
    # Pages are on node 0; thread 20 runs on node 1.
    expect(told).to_have_text("seismic: 100\u202f% (30 remote accesses)")
    assert panel.locator(".frame-group.flame-frame").all_inner_texts() == ["unknown callers"]
    assert panel.get_by_label("first touches").count() == 0
    panel.get_by_label("chosen structure").check(force=True)
    names = panel.locator(".frame-structure.flame-frame").all_inner_texts()
    assert len(set(names)) <= 1
    assert page.evaluate("window.pwned") is None
    assert opened.complaints == []


@pytest.fixture(scope="module")
def touched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same stencil: two functions call one that touches pages first; one name is hostile."""
    folder = tmp_path_factory.mktemp("touched")
    pattern = seismic(600, 8)
    pattern.phase("outside")
    main = pattern.call("main", 300)
    setup = pattern.call("setup", 310, main)
    pattern.touched_in(pattern.call("init", 20, setup))
    pattern.touched_in(pattern.call("init", 20, pattern.call("again", 320, main)), 0)
    hostile = pattern.call(HOSTILE[0], 7, pattern.unknown_callers())
    pattern.touched_in(hostile, 1)
    path = folder / "touched.html"
    render(draft(write_pattern(pattern, folder / "touched.numascape")), path)
    return path


def test_first_touches_have_the_calls_that_led_to_them(open_file: Open, touched: Path) -> None:
    opened = open_file(touched)
    page = opened.page
    panel = page.locator(".call-paths")
    assert panel.get_by_role("heading").first.inner_text() == "Call paths of allocations"
    panel.get_by_label("touching calls").check(force=True)
    assert panel.get_by_role("heading").first.inner_text() == "Call paths of first touches"
    names = panel.locator(".flame-frame").all_inner_texts()
    assert {"main (seismic.c)", "setup (seismic.c)", "again (seismic.c)", "unknown callers"} <= {
        *names
    }
    assert names.count("init (seismic.c)") == 2
    again = panel.locator(".flame-frame", has_text="again (seismic.c)")
    again.click()
    told = panel.locator(".flame-told")
    pages = seismic(600, 8).structures[0]["pages"]
    assert f"({pages} first touches)" in told.inner_text().replace("\u202f", "")
    assert panel.locator(".frame-structure.flame-frame").all_inner_texts() == ["grid->vx"]
    lines = saved_numbers(page, "Save: Call paths of first touches")
    assert lines[0] == "path,kind,first_touches"
    panel.get_by_label("chosen structure").check(force=True)
    assert len(set(panel.locator(".frame-structure.flame-frame").all_inner_texts())) == 1
    assert violations(page) == []
    assert page.evaluate("window.pwned") is None
    assert opened.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_sampled_calls_can_be_read_in_each_theme(
    open_file: Open, sampled: Path, theme: str
) -> None:
    page = open_file(sampled, address=f"#v=1&theme={theme}").page
    assert page.locator(".call-paths .flame-frame").count() > 4
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark", "grey"])
def test_frames_can_be_read_in_each_theme(open_file: Open, file: Path, theme: str) -> None:
    page = open_file(file, address=f"#v=1&theme={theme}").page
    page.locator(".call-paths").get_by_label("first touches").check(force=True)
    assert violations(page) == []
    page.locator(".call-paths").get_by_label("accessing functions").check(force=True)
    assert violations(page) == []
    page.emulate_media(media="print")
    settle(page)
    assert not page.locator(".call-paths .flame-told").is_visible()
