# SPDX-License-Identifier: Apache-2.0
"""The overview: the machine, the traffic between nodes, shared pages, the structures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser.opened import Open, Opened
from numascape.machine import open_machine
from numascape.report import draft, render
from synthetic.heat import FILL, PAGES, READ, THREADS, WRITE, heat
from synthetic.pattern import Pattern
from synthetic.patterns import naive_matmul, seismic
from synthetic.write import write_pattern

SHARING = "canvas.sharing-map"
TOTAL = PAGES * (FILL + READ + WRITE)
REMOTE = PAGES * READ * 3 // 4
"""Reads of A, which is on node 0, by the threads of the three other nodes."""


class Machine(Pattern):
    """A pattern on a machine other than the usual one with four nodes."""

    nodes: list[dict[str, Any]]
    distances: dict[str, Any] | None = None

    def info(self) -> dict[str, Any]:
        machine: dict[str, Any] = {"name": "", "nodes": self.nodes}
        if self.distances is not None:
            machine["distances"] = self.distances
        return {**super().info(), "machine": machine}


def on(pattern: Pattern, *cpus: list[int]) -> Pattern:
    """The pattern on a machine with a node for each list of CPUs."""
    machine = Machine(**vars(pattern))
    machine.nodes = [
        {"node": node, "cpus": list(own), "memory_bytes": 1 << 30} for node, own in enumerate(cpus)
    ]
    return machine


def plain(text: str) -> str:
    return " ".join(text.replace("\u202f", " ").split())


def percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def traffic(report: Opened) -> list[list[str]]:
    rows = report.page.locator("table.traffic tbody tr")
    return [
        [plain(cell) for cell in rows.nth(i).locator("th, td").all_inner_texts()]
        for i in range(rows.count())
    ]


def test_traffic_between_nodes_adds_up(open_pattern: Open) -> None:
    report = open_pattern(heat())
    quarter = PAGES * READ / 4
    first, second, *_, last = traffic(report)
    own = (PAGES * FILL + quarter + PAGES * WRITE / 4) / TOTAL
    assert first == ["node 0", percent(own), "\u2013", "\u2013", "\u2013", percent(own)]
    far, near = quarter / TOTAL, PAGES * WRITE / 4 / TOTAL
    assert second[:4] == ["node 1", percent(far), percent(near), "\u2013"]
    assert last[-1] == "584 k"
    legend = plain(report.page.locator(".machine .split-legend").inner_text())
    assert (
        legend == f"local{percent(1 - REMOTE / TOTAL)} remote{percent(REMOTE / TOTAL)} unknown0 %"
    )


def test_structures_have_their_remote_share(open_pattern: Open) -> None:
    report = open_pattern(heat())
    cells = report.page.locator("td.remote-share > span:first-child")
    assert [plain(text) for text in cells.all_inner_texts()] == [
        percent(REMOTE / (PAGES * (FILL + READ))),
        "0 %",
    ]
    heading = report.page.get_by_role("button", name="Remote")
    heading.click()
    heading.click()
    assert report.names() == ["B", "A"]


def test_threads_have_their_remote_share(open_pattern: Open) -> None:
    report = open_pattern(heat())
    report.page.get_by_text("thread by thread").click()
    rows = report.page.locator(".thread-traffic tbody tr")
    rows.last.wait_for()
    assert rows.count() == THREADS
    cells = [plain(text) for text in rows.first.locator("th, td").all_inner_texts()]
    assert cells[3] == percent(READ / (READ + WRITE))
    assert plain(rows.last.locator("td").nth(2).inner_text()) == "0 %"


def test_the_machine_is_drawn_with_threads_and_links(open_pattern: Open) -> None:
    report = open_pattern(heat())
    drawing = report.page.locator(".topology svg")
    assert drawing.locator("rect.node").count() == 4
    assert drawing.locator("circle").count() == THREADS
    assert drawing.locator("path.band.local").count() == 4
    assert drawing.locator("path.band.remote").count() == 3  # from the three others to node 0
    assert "node 0 has 16 threads" in str(drawing.get_attribute("aria-label"))
    told = plain(drawing.locator("path.band.remote title").first.text_content() or "")
    assert re.match(r"Threads on node \d to pages on node 0: 16 k accesses, 2.7 %", told)


def test_a_node_without_cpus_has_memory_only(open_pattern: Open) -> None:
    report = open_pattern(on(naive_matmul(64, 4), [0, 1], []))
    texts = report.page.locator(".topology text").all_text_contents()
    assert "no CPUs" in texts
    assert "no threads" in texts


def test_one_node_needs_no_traffic(open_pattern: Open) -> None:
    report = open_pattern(on(naive_matmul(64, 4), [0, 1, 2, 3]))
    assert "so all memory is local" in plain(report.page.locator(".machine").inner_text())
    assert report.page.locator("table.traffic, td.remote-share, .machine .split").count() == 0
    assert report.page.get_by_label("node", exact=True).count() == 0


def test_neighbours_that_share_are_beside_the_diagonal(open_pattern: Open) -> None:
    report = open_pattern(seismic(600, 16, parallel=True))
    report.page.locator(SHARING).scroll_into_view_if_needed()
    at = [(i + 0.4) / 16 for i in range(16)]
    for i in range(16):
        for j in range(16):
            assert report.drawn(SHARING, at[i], at[j]) == (abs(i - j) == 1), (i, j)
    text = report.page.locator(".sharing .statement").inner_text()
    assert text == "Neighbouring threads share pages, as in a stencil."


def test_the_pointer_tells_how_much_two_threads_share(open_pattern: Open) -> None:
    report = open_pattern(heat())
    canvas = report.page.locator(SHARING)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    report.page.mouse.move(box["x"] + box["width"] * 5.5 / THREADS, box["y"] + 2)
    text = plain(report.page.locator(".tooltip").inner_text())
    assert text.startswith("Threads 0 and 5")
    assert "1 000" in text  # 10 pages, 100 reads of each
    report.page.get_by_text("by pairs").click()
    pairs = report.page.locator(".sharing-table tbody tr")
    pairs.last.wait_for()
    assert pairs.count() == THREADS - 1


def test_more_threads_than_rows_are_grouped(open_report: Open) -> None:
    report = open_report("many-threads")
    canvas = report.page.locator(SHARING)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    report.page.mouse.move(box["x"] + 1, box["y"] + box["height"] - 1)
    assert "0\u20137" in report.page.locator(".tooltip").inner_text()


def test_strips_show_nodes(open_report: Open) -> None:
    report = open_report("matmul-block")
    strip = "table.structures tr:has(bdi:text-is('C')) canvas"
    report.come_near(strip)
    by_thread = [report.pixel(strip, x, 0.5) for x in (0.05, 0.2)]
    assert by_thread[0] != by_thread[1]
    report.page.get_by_label("node", exact=True).check(force=True)
    by_node = [report.pixel(strip, x, 0.5) for x in (0.05, 0.2, 0.3, 0.6, 0.9)]
    assert by_node[0] == by_node[1]  # threads 0 to 15 are on node 0
    assert len(set(by_node)) == 4


def test_stacks_are_folded_behind_one_switch(open_report: Open) -> None:
    report = open_report("matmul-naive")
    assert report.names() == ["A", "B", "C"]
    switch = report.page.get_by_label(re.compile("64 thread stacks"))
    switch.check()
    assert len(report.names()) == 67
    switch.uncheck()
    assert len(report.names()) == 3


def test_a_card_opens_its_structure(open_report: Open) -> None:
    report = open_report("seismic-serial", address="#structure=9")
    card = report.page.locator(".card").first
    text = plain(card.inner_text())
    for part in ("grid->vx", "serial first touch", "seismic.c:88", "Cause", "Fix"):
        assert part in text
    card.click(position={"x": 60, "y": 20})
    assert report.page.locator("#structure-name").inner_text() == "grid->vx"


def test_strips_are_drawn_on_paper(open_report: Open) -> None:
    report = open_report("matmul-block")
    last = "table.read-write tr:last-child canvas"
    assert not report.drawn(last, 0.5, 0.5)  # it is far below the window
    report.page.emulate_media(media="print")
    report.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert report.drawn(last, 0.5, 0.5)


def sixteen_nodes() -> Pattern:
    """Every thread of 16 nodes uses every page, which are spread over all nodes."""
    pattern = Pattern("spread", 64)
    pattern.placed_by_first_touch = True
    everything = pattern.structure("S", 640)
    page = np.arange(640)[None, :]
    pattern.access(everything, page, np.arange(64)[:, None], 100, 10)
    pattern.touch(everything, page, page % 64)
    return on(pattern, *([node] for node in range(16)))


@pytest.mark.parametrize("width", [1024, 1440, 1920, 3840])
def test_sixteen_nodes_fit(open_pattern: Open, width: int) -> None:
    page = open_pattern(sixteen_nodes(), width=width).page
    assert page.locator("rect.node").count() >= 16
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for frame in (".topology", ".matrix-frame"):
        assert page.locator(frame).evaluate("e => e.scrollWidth <= e.clientWidth"), frame


@pytest.mark.parametrize("width", [1024, 1440, 3840])
def test_texts_of_the_drawing_do_not_overlap(open_pattern: Open, width: int) -> None:
    page = open_pattern(sixteen_nodes(), width=width).page
    overlapping = page.locator(".topology svg").evaluate("""(svg) => {
        const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent);
        const boxes = texts.map((text) => text.getBoundingClientRect());
        const apart = (a, b) => a.right <= b.left || a.bottom - 3 <= b.top;
        const meet = (a) => (b) => !apart(a, b) && !apart(b, a);
        return texts
            .filter((_, i) => boxes.slice(i + 1).some(meet(boxes[i])))
            .map((text) => text.textContent);
    }""")
    assert overlapping == []


def test_factors_stand_beside_the_traffic(open_pattern: Open) -> None:
    rows = [[10.0 if i == j else 16.0 for j in range(4)] for i in range(3)]
    slit = {"values": [*rows, [22.0, 22.0, 22.0, 10.0]]}
    known = on(heat(), *(list(range(16 * node, 16 * node + 16)) for node in range(4)))
    assert isinstance(known, Machine)
    known.distances = {**slit, "provenance": {"kind": "slit", "source": "SLIT"}}
    report = open_pattern(known)
    table = report.page.locator("table.traffic")
    factors = table.locator(".factor").all_inner_texts()
    assert factors == ["\u00d7 1.60"] * 9 + ["\u00d7 2.20"] * 3
    assert table.locator("td[title$='NUMA factor 2.20']").count() == 3
    quarter = PAGES * READ / 4
    mean = 1 + quarter * (0.6 + 0.6 + 1.2) / TOTAL
    source = plain(report.page.locator(".distance-source").inner_text())
    assert source.endswith(f", {mean:.2f} on average of these accesses (slit: SLIT).")
    link = report.page.locator(".topology path.band.remote title").all_text_contents()
    assert sum("NUMA factor \u00d7 2.20" in plain(text) for text in link) == 1


def test_unknown_factors_are_not_mentioned(open_pattern: Open) -> None:
    report = open_pattern(heat())
    assert report.page.locator("table.traffic .factor, .distance-source").count() == 0


def test_another_machine_can_be_chosen(open_file: Open, tmp_path: Path) -> None:
    """Gains, traffic and the nodes of threads follow the choice, and the address keeps it."""
    recorded = write_pattern(heat(), tmp_path / "heat.numascape")
    machine = open_machine("numa16")
    file = tmp_path / "heat.html"
    render(draft(recorded, others=[machine]), file)
    report = open_file(file)

    def predicted() -> bool:
        labels = report.page.locator(".figure-label").all_inner_texts()
        return any(machine.name in text for text in labels)

    assert len(traffic(report)) == 4 + 1
    assert not predicted()
    report.page.locator(".machine-choice select").select_option("1")
    assert len(traffic(report)) == len(machine.nodes) + 1
    assert predicted()
    assert f"shown as on {machine.name}" in plain(
        report.page.locator("section.machine").inner_text()
    )
    report.page.wait_for_function("location.hash.includes('machine=1')")
    again = open_file(file, address=report.page.evaluate("location.hash"))
    assert len(traffic(again)) == len(machine.nodes) + 1
    again.page.locator(".machine-choice select").select_option("0")
    assert len(traffic(again)) == 4 + 1
    assert report.complaints == again.complaints == []
