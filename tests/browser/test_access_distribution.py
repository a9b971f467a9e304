# SPDX-License-Identifier: Apache-2.0
"""Orders of threads, sizes of pages, differences of groups, and keys, in the page's figures."""

from __future__ import annotations

import numpy as np
import pytest

from browser.opened import Open, Opened
from synthetic.pattern import Pattern

ACCESSES = "canvas.accesses"
FIRST = "canvas.first-touches"
DIFFERENCE = "canvas.difference"
# The page updates its address at most five times a second; after this, it would have changed.
ADDRESS_IS_WRITTEN = """() => {
    const href = location.href;
    if (window.seen !== href) [window.seen, window.since] = [href, performance.now()];
    return performance.now() - window.since > 400;
}"""
TEAMS = 4
THREADS = 16


def teams() -> Pattern:
    """Thread t works with t + 4, t + 8 and t + 12 on a quarter of 2048 pages."""
    pattern = Pattern("teams", THREADS)
    s = pattern.structure("field", 2048)
    thread = np.arange(THREADS)[:, None]
    pages = (thread % TEAMS) * 512 + np.arange(512)
    pattern.access(s, pages, thread, 8, 0)
    pattern.touch(s, np.arange(2048), 0)
    return pattern


def drawn_rows(report: Opened, x: float) -> list[int]:
    rows = range(THREADS)
    return [row for row in rows if report.drawn(ACCESSES, x, (row + 0.5) / THREADS)]


def choose(report: Opened, option: str) -> None:
    report.page.locator(".toolbar").get_by_label(option, exact=True).check(force=True)


def labels(report: Opened) -> list[str]:
    return report.page.locator(".thread-axis").first.locator("span").all_inner_texts()


def test_threads_that_share_pages_become_neighbours(open_pattern: Open) -> None:
    report = open_pattern(teams())
    assert drawn_rows(report, 0.1) == [0, 4, 8, 12]
    choose(report, "by shared pages")
    for quarter in range(TEAMS):
        rows = drawn_rows(report, (quarter + 0.5) / TEAMS)
        assert rows == list(range(4 * quarter, 4 * quarter + 4))
    numbers = [int(label) for label in labels(report)]
    assert [number % TEAMS for number in numbers] == [row // 4 for row in range(THREADS)]
    report.page.wait_for_url("**order=sharing")


def test_the_tooltip_and_the_table_follow_the_order(open_pattern: Open) -> None:
    report = open_pattern(teams(), address="#v=1&order=sharing")
    page = report.page
    shown = labels(report)
    page.locator(".plot.accesses").scroll_into_view_if_needed()
    box = page.locator(".plot.accesses").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.1, box["y"] + box["height"] * 2.5 / THREADS)
    tooltip = page.locator(".tooltip").inner_text()
    assert f"worker {shown[2]}" in tooltip or f"\n{shown[2]}\n" in tooltip
    assert "4 threads" in tooltip
    page.get_by_text("The same as a table, by thread").click()
    rows = page.locator(".thread-table tbody tr")
    rows.last.wait_for()
    assert [row.split()[0] for row in rows.all_inner_texts()] == shown


def test_nodes_are_named_and_divided(open_report: Open) -> None:
    report = open_report("matmul-naive", address="#v=1&structure=1&order=node")
    axis = report.page.locator(".thread-axis").first
    assert axis.locator("em").all_inner_texts() == [f"node {n}" for n in range(4)]
    assert report.page.locator(".plot.accesses .group-line").count() == 3


def test_pages_of_2_mib_show_who_shares_them(open_pattern: Open) -> None:
    pattern = Pattern("halves", 2)
    s = pattern.structure("A", 1024)
    pattern.access(s, np.array([0, 600]), np.array([0, 1]), 100, 0)
    pattern.access(s, np.array([500]), np.array([1]), 100, 0)
    pattern.touch(s, np.arange(1024), 0)
    report = open_pattern(pattern)
    assert not report.drawn(ACCESSES, 0.25, 0.25)
    choose(report, "2\u202fMiB")
    # Both threads use the first large page, thread 1 alone the second.
    assert report.drawn(ACCESSES, 0.25, 0.25)
    assert report.drawn(ACCESSES, 0.25, 0.75)
    assert not report.drawn(ACCESSES, 0.75, 0.25)
    assert report.drawn(ACCESSES, 0.75, 0.75)
    note = report.page.locator(".hint").inner_text().replace("\u202f", " ")
    assert "Of the 2 pages of 2 MiB in use, 1 are used by several" in note
    assert "counted from its start" in note


def test_two_groups_are_compared(open_pattern: Open) -> None:
    report = open_pattern(teams())
    assert report.page.locator(DIFFERENCE).count() == 0
    page = report.page
    page.get_by_label("Threads of group A").fill("0, 4-4")
    page.get_by_label("Threads of group A").press("Enter")
    page.get_by_label("Threads of group B").fill("1")
    page.get_by_label("Threads of group B").press("Enter")
    band = 0.84
    assert report.drawn(DIFFERENCE, 0.1, 0.15)
    assert not report.drawn(DIFFERENCE, 0.1, 0.5)
    assert report.drawn(DIFFERENCE, 0.3, 0.5)
    a, b = report.pixel(DIFFERENCE, 0.1, band), report.pixel(DIFFERENCE, 0.3, band)
    assert a[2] > a[0]  # A has more: purple
    assert b[0] > b[2]  # B has more: orange
    assert not report.drawn(DIFFERENCE, 0.8, band)
    text = page.locator("#structure").inner_text()
    assert "A (threads 0, 4) against B (thread 1)" in text
    page.wait_for_url("**a=0,4&b=1")
    page.get_by_role("button", name="clear").click()
    assert report.page.locator(DIFFERENCE).count() == 0


def test_equal_groups_differ_nowhere(open_pattern: Open) -> None:
    report = open_pattern(teams(), address="#v=1&a=0,4&b=8,12")
    r, g, b, _ = report.pixel(DIFFERENCE, 0.1, 0.84)
    assert max(r, g, b) - min(r, g, b) < 4
    assert (
        "100\u202f% of their accesses have the same distribution"
        in report.page.locator(".difference-notes").inner_text()
    )


def test_groups_are_chosen_along_the_thread_axis(open_pattern: Open) -> None:
    page = open_pattern(teams()).page
    axis = page.locator(".thread-axis").first
    axis.scroll_into_view_if_needed()
    box = axis.bounding_box()
    assert box

    def drag(first: int, last: int) -> None:
        x = box["x"] + box["width"] / 2
        page.mouse.move(x, box["y"] + box["height"] * (first + 0.5) / THREADS)
        page.mouse.down()
        page.mouse.move(x, box["y"] + box["height"] * (last + 0.5) / THREADS, steps=3)
        page.mouse.up()

    drag(0, 3)
    page.keyboard.down("Shift")
    drag(8, 5)
    page.keyboard.up("Shift")
    page.wait_for_url("**a=0-3&b=5-8")
    assert page.locator(DIFFERENCE).count() == 1


def test_keys_change_what_is_shown(open_pattern: Open) -> None:
    report = open_pattern(teams())
    page = report.page
    page.locator(".figures").focus()
    for keys, address in [
        ("o", "order=node"),
        ("o", "order=sharing"),
        ("m", "measure=reads"),
        ("l", "scale=log"),
        ("a", "a=0-15"),
        ("+", "view="),
    ]:
        page.keyboard.press(keys)
        page.wait_for_url(f"**{address}*")
    page.keyboard.press("b")
    page.wait_for_url("**b=0-15*")
    page.keyboard.press("c")
    page.wait_for_function("() => !location.hash.includes('b=')")


def test_help_opens_with_a_question_mark_and_gives_the_focus_back(open_pattern: Open) -> None:
    page = open_pattern(teams()).page
    page.locator(".figures").focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys and pointer in the figures")
    dialog.wait_for()
    assert "zoom pages in and out" in dialog.inner_text()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.className") == "figures"


def test_an_address_restores_the_view(open_pattern: Open) -> None:
    report = open_pattern(teams())
    page = report.page
    choose(report, "by shared pages")
    choose(report, "logarithmic")
    page.locator(".figures").focus()
    for key in ("+", "+", "ArrowRight", "]"):
        page.keyboard.press(key)
    page.wait_for_function(ADDRESS_IS_WRITTEN, polling=50)
    axis = page.locator(".page-axis").inner_text()
    picture = report.pixels(ACCESSES)
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert page.locator(".page-axis").inner_text() == axis
    assert report.pixels(ACCESSES) == picture


@pytest.mark.parametrize(
    "address",
    [
        "#v=1&structure=<img src=x onerror=window.pwned=1>",
        "#v=1&search=</script><script>window.pwned=1</script>",
        "#v=1&search=" + "x" * 10_000,
        "#v=1&view=1e999,NaN,-1,0&a=0-99999999999&b=999&phases=-1&theme=javascript:1",
        "#%E0%A4%A&=&v=1=2&structure=__proto__",
        "#v=9&structure=0",
    ],
)
def test_a_hostile_address_does_no_harm(open_pattern: Open, address: str) -> None:
    report = open_pattern(teams(), address=address)
    assert report.drawn(ACCESSES, 0.1, 0.5 / THREADS)
    assert report.page.evaluate("window.pwned") is None
    assert report.complaints == []
    assert report.requests == [report.file.as_uri()]


def test_a_redraw_is_a_performance_measure(open_report: Open) -> None:
    report = open_report("many-threads")
    page = report.page
    page.locator(".figures").focus()
    count = "performance.getEntriesByName('numascape:redraw').length"
    for number, key in enumerate(("+", "ArrowRight", "+", "]"), 1):
        page.keyboard.press(key)
        page.wait_for_function(f"{count} >= {number}")
    assert page.evaluate(count) == 4


def pair() -> Pattern:
    """Two instances of one structure: thread 0 uses the first, thread 1 the second."""
    pattern = Pattern("pair", 2)
    s = pattern.structure("list", 8, instances=2)
    page = np.arange(8)
    for instance in (0, 1):
        pattern.access(s, page, instance, 100 * (3 - instance), 0, instance=instance)
        pattern.touch(s, page, instance, instance=instance)
        pattern.instances.append((s, instance, (1 << 30) + instance * (1 << 21), 8 * 4096))
    return pattern


def test_instances_are_shown_one_by_one_or_summed(open_pattern: Open) -> None:
    report = open_pattern(pair())
    choice = report.page.locator(".instances select")
    summed = [report.drawn(ACCESSES, 0.5, y) for y in (0.25, 0.75)]
    assert summed == [True, True]
    assert "2 instances summed up" in report.page.locator("#structure").inner_text()
    for instance, rows in (("0", [True, False]), ("1", [False, True])):
        choice.select_option(instance)
        report.page.wait_for_url(f"**instance={instance}")
        assert [report.drawn(ACCESSES, 0.5, y) for y in (0.25, 0.75)] == rows
        assert [report.drawn(FIRST, 0.5, y) for y in (0.25, 0.75)] == rows
        heading = report.page.locator("#structure-name").inner_text()
        assert heading == f"list instance {instance}"
    assert "60.0" in choice.inner_text()
    choice.select_option("-1")
    assert [report.drawn(ACCESSES, 0.5, y) for y in (0.25, 0.75)] == summed


def test_figures_follow_the_phases(open_pattern: Open) -> None:
    pattern = Pattern("p", 2)
    phases = [pattern.phase("outside"), pattern.phase("<b>first</b>"), pattern.phase("second")]
    s = pattern.structure("A", 4)
    pattern.access(s, np.arange(4), 0, 10, 0, phase=phases[1])
    pattern.access(s, np.arange(4), 1, 10, 0, phase=phases[2])
    pattern.touch(s, np.arange(4), 0)
    for address, rows in (("", [True, True]), ("&phases=1", [True, False])):
        report = open_pattern(pattern, address=f"#v=1{address}")
        assert [report.drawn(ACCESSES, 0.5, y) for y in (0.25, 0.75)] == rows


def test_hostile_names_in_the_tooltip_and_the_difference(open_report: Open) -> None:
    report = open_report("hostile", address="#v=1&a=0&b=1")
    page = report.page
    for i in range(3):
        page.locator("table.structures .name").nth(i).click()
        page.locator(".plot.accesses").scroll_into_view_if_needed()
        page.locator(".plot.accesses").hover()
        assert "First touch" in page.locator(".tooltip").inner_text()
        page.mouse.move(1, 1)
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img, main script, main i, .tooltip b").count() == 0
    assert report.complaints == []


def test_a_narrow_difference_is_zoomed_over_pages_only(open_pattern: Open) -> None:
    report = open_pattern(teams(), address="#v=1&a=0&b=1")
    page = report.page
    plot = page.locator(".plot.difference")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] - 5, steps=3)
    page.mouse.up()
    page.wait_for_url("**view=*")
    x0, x1, y0, y1 = (float(part) for part in page.url.split("view=")[1].split("&")[0].split(","))
    assert (round(x0), round(x1), y0, y1) == (512, 1024, 0, THREADS)
