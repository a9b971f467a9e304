# SPDX-License-Identifier: Apache-2.0
"""The page of running processes: their nodes, structures and threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.accessibility import faults_on_paper, faults_on_screen, on_each_screen
from browser.opened import Open, Opened, saved_numbers, settle
from numascape.report.process_page import render_processes
from synthetic.processes import TENSORS, model_server

HOSTILE = "<script>window.pwned=1</script>"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("processes") / "processes.html"
    processes = [model_server(HOSTILE), model_server("second", 5000)]
    assert render_processes(processes, in_detail=True, path=path) < 1_000_000
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
    assert opened.page.locator("h1").inner_text() == f"Memory of {HOSTILE} (4242)"
    node_0, node_1, unknown = rows(opened, "node-uses")
    assert node_0 == ["node 0", "6.03 MiB", "960 KiB", "6 MiB", "1", "0", "0-1"]
    assert node_1[-3:] == ["1", "1", "2-3"]
    assert unknown[:2] == ["unknown", "4 KiB"]
    heap, *_ = rows(opened, "live-structures")
    assert heap[0].split("\n")[0].startswith("[heap]")
    assert "4 KiB in swap" in heap[0]
    assert heap[3] == "node 0: 75 %, node 1: 25 %, unknown: 0.05 %"
    assert heap[4] == "bind:0-1"
    assert rows(opened, "live-threads")[1] == ["worker", "4243", "3", "node 1", "2-3"]
    assert opened.page.evaluate("window.pwned") is None
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


def test_another_process_is_chosen_with_keys(opened: Opened) -> None:
    page = opened.page
    opened.choose(HOSTILE)
    page.keyboard.press("ArrowDown")
    assert page.locator("h1").inner_text() == "Memory of second (5000)"
    page.wait_for_url("**#v=1&structure=1")
    assert rows(opened, "live-threads")[0][1] == "5000"


def test_structures_are_searched_shown_and_saved(opened: Opened) -> None:
    page = opened.page
    everything = TENSORS + 2
    assert len(rows(opened, "live-structures")) == 50
    page.get_by_role("button", name=f"Show more ({everything - 50} left)").click()
    assert len(rows(opened, "live-structures")) == everything
    page.get_by_label("Search structures").fill("BLK.3.")
    ((name, resident, _, by_node, _),) = rows(opened, "live-structures")
    assert name.startswith("blk.3.weight")
    assert (resident, by_node) == ("32 KiB", "node 1: 100 %")
    for label, heading, count in (
        ("Save: Structures", "pid,structure,kind,file,source,anonymous,files", everything),
        ("Save: Threads", "pid,tid,name,cpu,node,allowed_cpus", 2),
        ("Save: Processes", "pid,process,node,anonymous,files,huge", 2 * 3),
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
