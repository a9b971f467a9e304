# SPDX-License-Identifier: Apache-2.0
"""The figures have pixels exactly where there are accesses."""

from __future__ import annotations

import numpy as np
import pytest

from browser.opened import Open, settle
from synthetic.pattern import Pattern

ACCESSES = "canvas.accesses"
FIRST = "canvas.first-touches"
THREADS = 64


def row(thread: int, threads: int = THREADS) -> float:
    return (thread + 0.5) / threads


def test_each_thread_s_block_is_on_the_diagonal(open_report: Open) -> None:
    report = open_report("matmul-block")
    report.choose("C")
    for thread in (0, 7, 31, 63):
        for other in (0, 20, 40, 63):
            here = report.drawn(ACCESSES, row(other), row(thread))
            assert here == (thread == other)
            assert report.drawn(FIRST, row(other), row(thread)) == (thread == other)


def test_what_all_threads_use_is_a_full_field(open_report: Open) -> None:
    report = open_report("matmul-naive")
    report.choose("B")
    points = [(x / 7, y / 7) for x in range(8) for y in range(8)]
    assert all(report.drawn(ACCESSES, x * 0.999, y * 0.999) for x, y in points)


def test_serial_first_touch_is_one_line(open_report: Open) -> None:
    report = open_report("matmul-naive")
    report.choose("A")
    assert all(report.drawn(FIRST, x / 10, row(0)) for x in range(10))
    assert not any(report.drawn(FIRST, x / 10, row(t)) for x in range(10) for t in (2, 30, 63))


def test_pages_without_accesses_stay_empty(open_report: Open) -> None:
    report = open_report("bucketsort")  # the bell curve's ends have no key
    report.choose("key_buff")
    assert not report.drawn(ACCESSES, 0.001, 0.5)
    assert not report.drawn(ACCESSES, 0.999, 0.5)
    assert report.drawn(ACCESSES, 0.05, 0.5)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_more_accesses_stand_out_more(open_report: Open, scheme: str) -> None:
    report = open_report("bucketsort", color_scheme=scheme)
    report.choose("key_buff")

    def lightness(x: float) -> float:
        r, g, b, _ = report.pixel(ACCESSES, x, 0.5)
        return float(0.2126 * r + 0.7152 * g + 0.0722 * b)

    steps = [lightness(x) for x in (0.05, 0.25, 0.35, 0.5)]
    assert steps == sorted(steps, reverse=scheme == "light")
    assert abs(steps[-1] - steps[0]) > 100


def test_the_average_has_the_bell_s_shape(open_report: Open) -> None:
    report = open_report("bucketsort")
    report.choose("key_buff")
    average = "canvas.column-average"
    assert report.drawn(average, 0.5, 0.1)
    assert not report.drawn(average, 0.25, 0.5)
    assert report.drawn(average, 0.25, 0.97)


def test_reads_and_writes_apart(open_report: Open) -> None:
    report = open_report("matmul-naive")
    report.choose("C")
    assert report.drawn(ACCESSES, 0.5, 0.5)
    report.page.get_by_label("reads", exact=True).check(force=True)
    assert not report.drawn(ACCESSES, 0.5, 0.5)
    report.page.get_by_label("writes", exact=True).check(force=True)
    assert report.drawn(ACCESSES, 0.5, 0.5)


def test_a_logarithmic_scale_shows_small_counts(open_pattern: Open) -> None:
    pattern = Pattern("p", 2)
    s = pattern.structure("A", 2)
    pattern.access(s, np.array([0, 1]), np.array([0, 1]), np.array([10, 1_000_000]), 0)
    pattern.touch(s, np.array([0, 1]), 0)
    report = open_pattern(pattern)
    faint = report.pixel(ACCESSES, 0.25, 0.25)
    report.page.get_by_label("logarithmic").check(force=True)
    stronger = report.pixel(ACCESSES, 0.25, 0.25)
    assert sum(stronger[:3]) < sum(faint[:3])
    assert not report.drawn(ACCESSES, 0.75, 0.25)


def test_islands_in_a_huge_mapping_are_seen(open_report: Open) -> None:
    report = open_report("sparse")
    assert report.drawn(ACCESSES, 0, 0.75)
    assert report.drawn(ACCESSES, (1 << 20) / (1 << 28), 0.75)
    assert not report.drawn(ACCESSES, 0.5, 0.75)
    assert not report.drawn(ACCESSES, 0, 0.25)


def test_the_pointer_tells_page_thread_counts_and_first_touch(open_report: Open) -> None:
    report = open_report("seismic-serial")
    report.choose("grid->vx")
    report.page.locator(".plot.accesses").scroll_into_view_if_needed()
    box = report.page.locator(".plot.accesses").bounding_box()
    assert box
    x, y = box["x"] + row(32) * box["width"], box["y"] + row(32) * box["height"]
    report.page.mouse.move(x, y)
    text = report.page.locator(".tooltip").inner_text().replace("\u202f", "")
    # Two pages per column: 20 * 512 * 3 reads and 20 * 512 writes of each by its owner.
    assert "Pages" in text
    assert "32 (worker 32)" in text
    assert str(2 * 20 * 512 * 3) in text
    assert str(2 * 20 * 512) in text
    assert "thread 0, all pages" in text
    assert "initialise_grid, seismic.c:131" in text


def test_dragging_zooms_and_a_double_click_shows_the_whole(open_report: Open) -> None:
    report = open_report("matmul-block")
    report.choose("C")
    page = report.page
    plot = page.locator(".plot.accesses")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    # The block of thread 32: pages 1024 to 1055 of 2048, row 32 of 64.
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.501)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.515, box["y"] + box["height"] * 0.514, steps=4)
    page.mouse.up()
    assert all(report.drawn(ACCESSES, x, y) for x in (0.1, 0.9) for y in (0.1, 0.9))
    plot.dblclick()
    assert not report.drawn(ACCESSES, 0.9, 0.1)
    assert page.get_by_role("button", name="whole structure").is_disabled()


def test_keys_zoom_move_and_reset(open_report: Open) -> None:
    report = open_report("matmul-block")
    report.choose("C")
    axis = report.page.locator(".page-axis")
    settle(report.page)  # the figure listens to keys when it has been drawn
    report.page.locator(".figures").focus()
    whole = axis.inner_text()
    for _ in range(6):
        report.page.keyboard.press("+")
    settle(report.page)
    middle = axis.inner_text()
    report.page.keyboard.press("ArrowRight")
    settle(report.page)
    assert len({whole, middle, axis.inner_text()}) == 3
    report.page.keyboard.press("0")
    settle(report.page)
    assert axis.inner_text() == whole


def test_the_wheel_zooms_only_a_focused_figure(open_report: Open) -> None:
    report = open_report("matmul-block")
    report.choose("C")
    plot = report.page.locator(".plot.accesses")
    plot.scroll_into_view_if_needed()
    axis = report.page.locator(".page-axis")
    whole = axis.inner_text()
    plot.hover()
    report.page.mouse.wheel(0, -300)
    settle(report.page)
    assert axis.inner_text() == whole
    report.page.locator(".figures").focus()
    plot.hover()
    report.page.mouse.wheel(0, -300)
    report.page.wait_for_function(
        "text => document.querySelector('.page-axis').innerText !== text", arg=whole
    )


def test_strips_show_the_dominant_thread(open_report: Open) -> None:
    report = open_report("matmul-block")
    strip = "table.structures tr:has(bdi:text-is('C')) canvas"
    report.come_near(strip)
    left, right = report.pixel(strip, 0.02, 0.5), report.pixel(strip, 0.98, 0.5)
    assert left[2] > left[0]  # thread 0 is blue
    assert right[0] > right[2]  # the last is amber
    shared = report.pixel("table.structures tr:has(bdi:text-is('B')) canvas", 0.5, 0.5)
    assert max(shared[:3]) - min(shared[:3]) < 12  # grey: no thread dominates


def test_many_threads_and_pages_are_shown(open_report: Open) -> None:
    report = open_report("many-threads")
    report.choose("field")
    for thread in (0, 500, 1000):
        start = thread / 1024  # of its pages and its row; they are thinner than a pixel
        assert report.drawn(ACCESSES, start, start)
        assert report.drawn(FIRST, start, start)
    assert report.page.locator(".facts").inner_text().replace("\u202f", "").count("1024") == 1
