# SPDX-License-Identifier: Apache-2.0
"""The page of a machine: its nodes, and what is known between them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from browser.accessibility import faults_on_paper, faults_on_screen, on_each_screen
from browser.opened import Open, saved_numbers, settle
from numascape.machine import open_machine
from numascape.report.machine_page import render_machine

HOSTILE = "<script>window.pwned=1</script>"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("machine") / "machine.html"
    machine = dataclasses.replace(open_machine("epyc-9354p-nps4"), name=HOSTILE)
    assert render_machine(machine, path) < 1_000_000
    return path


def test_nodes_and_matrices_are_shown_and_saved(open_file: Open, file: Path) -> None:
    opened = open_file(file)
    page = opened.page
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.evaluate("window.pwned") is None
    assert page.locator(".machine-node").count() == 4
    rows = page.locator("section:has(#matrix-numa-factors) tbody tr").all_inner_texts()
    assert rows[0].split("\t")[:2] == ["node 0", "1.00"]
    assert "1.12" in rows[0]
    lines = saved_numbers(page, "Save: NUMA factors")
    assert lines[0] == "cpu_node,memory_node,numa_factors"
    assert len(lines) == 1 + 4 * 4
    page.emulate_media(media="print")
    settle(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "grey"
    assert not page.locator(".save-menu").first.is_visible()
    assert faults_on_paper(page) == []
    assert opened.requests == [opened.file.as_uri()]
    assert opened.complaints == []


def test_lists_of_cpus_are_broken_between_numbers(open_file: Open, tmp_path: Path) -> None:
    path = tmp_path / "interleaved.html"
    render_machine(open_machine("xeon-x7550"), path)
    page = open_file(path, width=390).page
    cpus = page.locator(".machine-node p:has-text('CPUs')").first
    assert cpus.inner_text().startswith("CPUs 0,\u200b4,\u200b8,\u200b12,")
    assert cpus.evaluate("list => getComputedStyle(list).overflowWrap") != "anywhere"
    legend = page.locator(".matrix-legend").first.inner_text()
    assert "within a node" in legend
    assert "between nodes" in legend


@on_each_screen
def test_it_is_readable_on_every_screen(
    open_file: Open, file: Path, width: int, theme: str
) -> None:
    assert faults_on_screen(open_file, file, width, theme) == []
