# SPDX-License-Identifier: Apache-2.0
"""The page around the figures: offline, safe, usable with mouse, keys and screen reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser.accessibility import violations
from browser.opened import PATIENCE_MS, Open, settle
from synthetic.patterns import HOSTILE


@pytest.mark.parametrize("name", ["matmul-naive", "hostile", "sparse", "many-threads"])
def test_nothing_leaves_the_page_and_nothing_complains(open_report: Open, name: str) -> None:
    report = open_report(name)
    report.page.get_by_label("logarithmic").check(force=True)
    report.page.locator(".plot.accesses").hover()
    report.page.mouse.wheel(0, 3000)
    settle(report.page)
    assert report.requests == [report.file.as_uri()]
    assert report.complaints == []


def test_the_page_may_not_load_anything(open_report: Open) -> None:
    report = open_report("sparse")
    loaded = report.page.evaluate("""async () => {
        const image = new Image();
        const failed = new Promise((done) => (image.onerror = () => done("blocked")));
        image.src = "https://example.invalid/x.png";
        const fetched = fetch("https://example.invalid/").then(() => "ok", () => "blocked");
        return [await failed, await fetched];
    }""")
    assert loaded == ["blocked", "blocked"]
    assert any("Content Security Policy" in complaint for complaint in report.complaints)


def test_hostile_names_are_shown_not_executed(open_report: Open) -> None:
    report = open_report("hostile")
    for i in range(len(HOSTILE)):
        report.page.locator("table.structures .name").nth(i).click()
        report.page.locator(".call-stack summary").click()
    assert report.page.evaluate("window.pwned") is None
    assert report.page.locator("main img, main script, main i").count() == 0
    assert HOSTILE[0] in report.names()
    assert report.complaints == []
    report.page.locator("table.structures .name").last.click()
    heading = report.page.locator("#structure-name")
    assert heading.inner_text() == HOSTILE[-1]
    box = heading.bounding_box()
    assert box
    assert box["height"] < 200
    assert report.page.title().endswith("script> · Numascape")


def test_structures_are_sorted(open_report: Open) -> None:
    report = open_report("bucketsort")
    assert report.names() == ["key_buff", "bucket_ptrs", "key_array"]
    report.page.get_by_role("button", name="Name", exact=True).click()
    assert report.names() == ["bucket_ptrs", "key_array", "key_buff"]
    report.page.get_by_role("button", name="Writes", exact=True).click()
    assert report.names() == ["key_buff", "bucket_ptrs", "key_array"]
    report.page.get_by_role("button", name="Writes", exact=True).click()
    assert report.names() == ["key_array", "bucket_ptrs", "key_buff"]
    heading = report.page.get_by_role("columnheader", name="Writes")
    assert heading.get_attribute("aria-sort") == "ascending"


def test_structures_are_searched_by_name_and_place(open_report: Open) -> None:
    report = open_report("bucketsort")
    search = report.page.get_by_label("Search structures")
    search.fill("key")
    assert report.names() == ["key_buff", "key_array"]
    search.fill("stack 17")
    assert report.names() == ["Stack#17"]
    search.fill("nothing of the kind")
    assert report.names() == []
    assert report.page.get_by_text("No structure matches").is_visible()


def test_stacks_and_what_is_hardly_used_are_behind_a_switch(open_report: Open) -> None:
    report = open_report("matmul-naive")
    assert report.names() == ["A", "B", "C"]
    report.page.get_by_label(re.compile("Also show 64 thread stacks")).check()
    assert len(report.names()) == 3 + 64


def test_a_structure_is_chosen_with_mouse_and_keys(open_report: Open) -> None:
    report = open_report("matmul-naive")
    heading = report.page.locator("#structure-name")
    report.choose("B")
    assert heading.inner_text() == "B"
    report.page.keyboard.press("ArrowDown")
    assert heading.inner_text() == "C"
    selected = report.page.locator("tr[aria-selected=true] .name")
    assert selected.inner_text() == "C"
    report.page.wait_for_url("**#v=1&structure=2")


def test_an_address_opens_its_structure(open_report: Open) -> None:
    report = open_report("matmul-naive", address="#structure=1")
    assert report.page.locator("#structure-name").inner_text() == "B"


def test_skipping_to_the_figures_keeps_the_address(open_report: Open) -> None:
    page = open_report("matmul-naive", address="#v=1&structure=1&order=node").page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**#v=1&structure=1&order=node")
    settle(page)
    assert page.url.endswith("#v=1&structure=1&order=node")
    assert page.locator("#structure-name").inner_text() == "B"


def test_the_run_is_described(open_report: Open) -> None:
    report = open_report("matmul-naive")
    texts = report.page.locator("header, .facts").all_inner_texts()
    header = " ".join(texts).replace("\u202f", " ")
    for text in ("matmul", "--size 1024", "14 Mar 2026", "turing", "4 memory nodes", "64",
                 "2.1 s", "2.5 \u00d7", "> 99.9 %; stacks, runtimes and code 0.01 %"):  # fmt: skip
        assert text in header
    report.page.get_by_text("Recording limitations").click()
    assert "the kernel makes" in report.page.locator(".unseen").inner_text()


def test_what_stands_out_leads_to_its_structure(open_report: Open) -> None:
    report = open_report("seismic-serial")
    card = report.page.locator(".card").first
    assert "serial first touch" in card.inner_text()
    assert "63 other threads do" in card.inner_text()
    assert "and 7 more" in card.inner_text()
    card.get_by_role("button", name="grid->vz").click()
    assert report.page.locator("#structure-name").inner_text() == "grid->vz"


def test_a_well_placed_program_has_nothing_to_mend(open_report: Open) -> None:
    report = open_report("seismic-parallel")
    assert "No NUMA problem found" in report.page.locator("main").inner_text()


def test_who_never_reads_and_who_never_writes(open_report: Open) -> None:
    report = open_report("matmul-naive")
    rows = report.page.locator("table.read-write tbody tr")
    cells = [row.split("\t")[-2:] for row in rows.all_inner_texts()]
    assert cells == [["none", "1\u201363"], ["none", "1\u201363"], ["all 64", "none"]]


def test_the_table_behind_the_figures_has_the_numbers(open_report: Open) -> None:
    report = open_report("matmul-naive", address="#structure=1")
    report.page.get_by_text("The same as a table, by thread").click()
    rows = report.page.locator(".thread-table tbody tr")
    rows.last.wait_for()
    assert rows.count() == 64
    reads = 512 // 64 * 1024 * 2048
    first = rows.first.inner_text().replace("\u202f", "")
    assert [str(reads), str(512 * 2048)] == first.split("\t")[1:3]
    assert first.split("\t")[4] == "2048"


@pytest.mark.parametrize("width", [390, 1024, 2560])
def test_terms_are_explained_where_they_can_be_read(open_report: Open, width: int) -> None:
    page = open_report("matmul-naive", width=width).page
    for term in page.locator(".term").all():
        term.focus()
        box = term.locator(".meaning").bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert len(term.locator(".meaning").inner_text()) > 40


def test_light_and_dark(open_report: Open) -> None:
    dark = open_report("matmul-naive", color_scheme="dark").page
    background = "getComputedStyle(document.documentElement).backgroundColor"
    assert dark.evaluate(background) == "rgb(14, 17, 22)"
    dark.get_by_label("light", exact=True).check(force=True)
    assert dark.evaluate(background) == "rgb(247, 248, 249)"
    light = open_report("matmul-naive", color_scheme="light").page
    assert light.evaluate(background) == "rgb(247, 248, 249)"
    light.get_by_label("grey, for print").check(force=True)
    assert light.evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [1024, 1280, 1920, 2560, 3840])
@pytest.mark.parametrize("name", ["hostile", "seismic-serial"])
def test_the_layout_holds(open_report: Open, name: str, width: int) -> None:
    page = open_report(name, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sticking_out = page.evaluate("""() => [...document.querySelectorAll("main *, header *")]
        .filter((e) => !e.closest(".scroll, .meaning, .command, .skip"))
        .filter((e) => e.getBoundingClientRect().right > window.innerWidth + 1)
        .map((e) => e.className)""")
    assert sticking_out == []
    table = page.locator(".scroll").first
    assert table.evaluate("e => e.scrollWidth <= e.clientWidth")


@pytest.mark.parametrize("name", ["hostile", "seismic-serial", "many-phases"])
def test_a_telephone_shows_everything_below_each_other(open_report: Open, name: str) -> None:
    """Only wide parts, such as tables, can be scrolled sideways."""
    page = open_report(name, width=390).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    sticking_out = page.evaluate("""() => {
        const scrolled = (e) => e && (getComputedStyle(e).overflowX !== "visible" ||
            scrolled(e.parentElement));
        return [...document.querySelectorAll("main *, header *")]
            .filter((e) => !e.closest(".meaning, .skip") && !scrolled(e.parentElement))
            .filter((e) => e.getBoundingClientRect().right > window.innerWidth + 1)
            .map((e) => e.className);
    }""")
    assert sticking_out == []


@pytest.mark.parametrize("width", [390, 1024, 1440, 2560, 3840])
def test_nothing_lies_on_anything_else(open_report: Open, width: int) -> None:
    address = "#v=1&order=node&a=0-7&b=8-15"
    page = open_report("seismic-serial", width=width, address=address).page
    overlapping = page.evaluate("""() => {
        const parts = "h1, h2, h3, .plot, .toolbar, .figure-head, .column-bars, .row-bars, " +
            ".difference-notes, .page-axis, .reading, .facts, .cards > li, table, .legend .tick";
        const boxes = [...document.querySelectorAll(parts)]
            .filter((e) => e.checkVisibility() && !e.closest("details:not([open])"))
            .map((e) => [e, e.getBoundingClientRect()]);
        const found = [];
        boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
            if (a.contains(b) || b.contains(a)) return;
            const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            const name = (e) => e.className || e.textContent.slice(0, 40);
            if (across > 2 && down > 2) found.push([name(a), name(b)]);
        }));
        return found;
    }""")
    assert overlapping == []


@pytest.mark.parametrize("theme", ["light", "dark", "grey"])
@pytest.mark.parametrize("name", ["matmul-naive", "hostile", "many-phases"])
def test_accessibility(open_report: Open, name: str, theme: str) -> None:
    address = f"#v=1&structure=1&theme={theme}&order=node&a=0&b=1"
    page = open_report(name, address=address).page
    page.get_by_text("The same as a table, by thread").click()
    page.locator(".thread-table tbody tr").last.wait_for()
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark", "grey"])
def test_menus_and_help_are_accessible(open_report: Open, theme: str) -> None:
    page = open_report("matmul-naive", address=f"#v=1&theme={theme}").page
    page.get_by_role("button", name=re.compile("Save: Accesses")).click()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Help: keys and pointer").click()
    page.get_by_role("dialog").wait_for()
    assert violations(page) == []


def test_the_tab_key_reaches_everything_and_leaves_again(open_report: Open) -> None:
    page = open_report("matmul-naive").page
    script = """() => {
        const all = "a[href], button, input, select, summary, [tabindex='0']";
        const reachable = [...document.querySelectorAll(all)].filter(
            (e) => e.checkVisibility() && !e.disabled && (e.type !== "radio" || e.checked));
        window.left = new Set(reachable);
        document.addEventListener("focusin", (event) => window.left.delete(event.target));
        return reachable.length;
    }"""
    many = page.evaluate(script)
    assert many > 30
    for _ in range(many + 20):
        page.keyboard.press("Tab")
    assert page.evaluate("() => [...window.left].map((e) => e.outerHTML.slice(0, 120))") == []


def test_damaged_data_are_reported_in_the_page(
    open_report: Open, browser: Browser, tmp_path: Path
) -> None:
    text = open_report("sparse").file.read_text()
    start = text.index('octet-stream">') + 400
    damaged = tmp_path / "damaged.html"
    damaged.write_text(text[:start] + "AAAAAAAA" + text[start + 8 :])
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(damaged.as_uri())
    page.get_by_text("This report cannot be shown").wait_for()
    page.close()


def test_the_page_is_below_its_size(open_report: Open) -> None:
    assert open_report("many-threads").file.stat().st_size < 5_000_000
