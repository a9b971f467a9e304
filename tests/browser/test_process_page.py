# SPDX-License-Identifier: Apache-2.0
"""The page of running processes: their nodes, structures and threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.accessibility import faults_on_paper, faults_on_screen, on_each_screen
from browser.opened import Open, Opened, saved_numbers, settle
from numascape.report.process_page import render_processes
from synthetic.processes import TENSORS, model_server, shared_model

HOSTILE = "<script>window.pwned=1</script>"
NODES_OF_ALL = "node 0: 73 %, node 1: 27 %, unknown: 0.04 %"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("processes") / "processes.html"
    processes = [model_server(HOSTILE), model_server("second", 5000)]
    assert render_processes(processes, shared_model(), in_detail=True, path=path) < 1_000_000
    return path


@pytest.fixture
def opened(open_file: Open, file: Path) -> Opened:
    return open_file(file)


def rows(opened: Opened, section: str) -> list[list[str]]:
    found = opened.page.locator(f"section[aria-labelledby={section}] tbody tr").all_inner_texts()
    return [[cell.strip() for cell in plain(text).split("\t")] for text in found]


def plain(text: str) -> str:
    return text.replace("\u202f", " ").replace("\xa0", " ")


def test_memory_is_shown_by_node(opened: Opened) -> None:
    opened.choose(HOSTILE)
    assert opened.page.locator("h1").inner_text() == f"Memory of {HOSTILE} (4242)"
    node_0, node_1, unknown = rows(opened, "node-uses")
    assert node_0 == ["node 0", "6.03 MiB", "960 KiB", "960 KiB", "6 MiB", "1", "0", "0-1"]
    assert node_1[-3:] == ["1", "1", "2-3"]
    assert unknown[:2] == ["unknown", "4 KiB"]
    heap, *_ = rows(opened, "live-structures")
    assert heap[0].split("\n")[0].startswith("[heap]")
    assert "4 KiB in swap" in heap[0]
    assert heap[3] == "node 0: 75 %, node 1: 25 %, unknown: 0.05 %"
    assert heap[5] == "bind:0-1"
    assert rows(opened, "live-threads")[1] == ["worker", "4243", "3", "node 1", "2-3"]
    assert opened.page.evaluate("window.pwned") is None
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


def test_strips_show_where_the_pages_of_each_node_are(opened: Opened) -> None:
    opened.choose(HOSTILE)
    strip = "section[aria-labelledby=live-structures] tbody tr:first-child canvas"
    label = opened.page.locator(strip).get_attribute("aria-label")
    assert label == "Sixteenths of [heap]: 1-12: node 0, 13-16: node 1"
    opened.come_near(strip)
    first, middle, last = (opened.pixel(strip, x, 0.5) for x in (0.1, 0.74, 0.8))
    assert first == middle != last
    # In the last range, the page whose node is unknown is above those of node 1.
    assert opened.pixel(strip, 0.99, 0.01) != opened.pixel(strip, 0.99, 0.9) == last


def test_several_processes_are_shown_together_first(opened: Opened) -> None:
    page = opened.page
    assert page.locator("h1").inner_text() == "Memory of 2 processes"
    together, first, second = rows(opened, "processes")
    assert together == ["all together", "", "17.9 MiB", "1.88 MiB", "4", NODES_OF_ALL]
    assert first[1:4] == ["4242", "9.9 MiB", "1.88 MiB"]
    assert second[:2] == ["second", "5000"]
    assert [row[3] for row in rows(opened, "node-uses")] == ["960 KiB", "960 KiB", "0 B"]
    page.get_by_role("button", name="Show more").click()
    users = {row[0].split(" ")[0]: row[1] for row in rows(opened, "live-structures")}
    assert users["[heap]"] == "2"
    assert users["blk.3.weight"] == "2 shared"
    assert users["second"] == "pid 5000"
    assert page.locator("#live-threads").count() == 0


def test_another_process_is_chosen_with_keys(opened: Opened) -> None:
    page = opened.page
    opened.choose("all together")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("h1").inner_text() == "Memory of second (5000)"
    page.wait_for_url("**#v=1&structure=1")
    assert rows(opened, "live-threads")[0][1] == "5000"


def test_structures_are_searched_shown_and_saved(opened: Opened) -> None:
    page = opened.page
    opened.choose(HOSTILE)
    everything = TENSORS + 2
    assert len(rows(opened, "live-structures")) == 50
    page.get_by_role("button", name=f"Show more ({everything - 50} left)").click()
    assert len(rows(opened, "live-structures")) == everything
    page.get_by_label("Search structures").fill("BLK.3.")
    ((name, resident, _, by_node, *_),) = rows(opened, "live-structures")
    assert name.startswith("blk.3.weight")
    assert (resident, by_node) == ("32 KiB", "node 1: 100 %")
    for label, heading, count in (
        ("Save: Structures", "pid,structure,kind,file,source,anonymous,files", everything),
        ("Save: Threads", "pid,tid,name,cpu,node,allowed_cpus", 2),
        ("Save: Processes", "pid,process,node,anonymous,files,shared,huge", 3 * 3),
        ("Save: Nodes", "pid,process,node,anonymous,files,shared,huge", 3),
    ):
        lines = saved_numbers(page, label)
        assert lines[0].startswith(heading)
        assert len(lines) == 1 + count


@on_each_screen
def test_it_is_readable_on_every_screen(
    open_file: Open, file: Path, width: int, theme: str
) -> None:
    assert faults_on_screen(open_file, file, width, theme) == []


def test_it_is_printed_in_grey(opened: Opened) -> None:
    opened.page.emulate_media(media="print")
    settle(opened.page)
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "grey"
    assert not opened.page.locator(".save-menu").first.is_visible()
    assert faults_on_paper(opened.page) == []
